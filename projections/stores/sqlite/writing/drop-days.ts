import { basename } from 'node:path'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName, KeptDays } from '../../../index-store.ts'
import { removeDays, workspacesIn } from '../build-folders.ts'
import { openDatabase } from '../database.ts'
import { namesIn } from '../folder-names.ts'
import { dayOfAnyFile, dayPath, workspaceFolder } from '../paths.ts'

/**
 * Moves the WAL's content into the file, so that a reader that has just opened it finds all of it even if the WAL is removed. If that fails, because
 * the file is damaged or the disk is full, the file is removed all the same: nothing else frees space.
 */
function settle(path: string): void {
  try {
    const database = openDatabase(path)
    try {
      database.get('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      database.close()
    }
  } catch {
    // The day has expired: readers do not see it, complete or not.
  }
}

/** Removes the files of days that are not kept, of all workspaces of a build. Returns their number. `letGo` is called before each is removed. */
export function dropDays(
  folder: string,
  index: IndexName,
  kept: KeptDays,
  letGo: (workspaceId: WorkspaceId, day: string, path: string) => void,
): number {
  let dropped = 0
  for (const workspaceId of workspacesIn(folder, index)) {
    const own = workspaceFolder(folder, index, workspaceId)
    const first = kept.of(workspaceId)
    const names = namesIn(own)
    const days = new Set(names.flatMap((name) => dayOfAnyFile(name) ?? []).filter((day) => day < first))
    const paths: string[] = []
    for (const day of days) {
      const path = dayPath(folder, index, workspaceId, day)
      paths.push(path)
      letGo(workspaceId, day, path)
      if (names.includes(basename(path))) settle(path)
    }
    if (paths.length > 0) removeDays(own, paths)
    dropped += paths.length
  }
  return dropped
}
