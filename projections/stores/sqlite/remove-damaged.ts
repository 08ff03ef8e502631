import { rmSync } from 'node:fs'
import type { PermanentError } from '#src/lib/failure.ts'
import { isBuildOf } from '../builds.ts'
import { dropBuild } from './build-folders.ts'
import { isDamage } from './database.ts'
import { namesIn } from './folder-names.ts'
import { livePath, metaPath } from './layout.ts'
import { storedLiveBuilds } from './live.ts'
import { storedMeta } from './meta.ts'
import { syncFolder } from './sync-files.ts'

/** What was wrong with a file; undefined where it can be read, or where it is no damage that keeps it from being read. */
function damageMet(read: () => void): string | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    return isDamage(error) ? String((error as PermanentError).cause) : undefined
  }
}

/**
 * Removes the builds whose record is damaged, of which nobody could read or fold anything, and the list of the builds that readers use
 * where that is: whoever folds the log next makes them again. A damaged file of a day is not looked for. To be called while
 * nobody has the folder open.
 */
export function removeDamaged(folder: string, projections: readonly string[], tell: (line: string) => void): void {
  const isBuild = (name: string): boolean => projections.some((projection) => isBuildOf(projection, name))
  for (const index of namesIn(folder).filter(isBuild)) {
    const damage = damageMet(() => storedMeta(folder, index))
    if (damage === undefined) continue
    tell(
      `${metaPath(folder, index)} is damaged: the index ${index} is removed, and folded again from the log (${damage})`,
    )
    dropBuild(folder, index)
  }
  const live = livePath(folder)
  const damage = damageMet(() => storedLiveBuilds(folder))
  if (damage === undefined) return
  tell(`${live} is damaged: it is made again from the indexes that are there (${damage})`)
  for (const file of [`${live}-wal`, `${live}-shm`, live]) rmSync(file, { force: true })
  syncFolder(folder)
}
