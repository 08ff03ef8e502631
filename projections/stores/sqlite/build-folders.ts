import { existsSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { TransientError } from '#src/lib/failure.ts'
import { isWorkspaceId, workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { isBuildOf, type IndexName, type StoredBuild } from '../../index-store.ts'
import { looked, namesIn } from './folder-names.ts'
import { buildFolder, dayOfFile, droppedFolder, isDropped, workspaceFolder } from './paths.ts'
import { storedBuildRecord } from './build-record.ts'
import { syncIfThere } from './sync-files.ts'

function storedBuild(folder: string, index: IndexName): StoredBuild | undefined {
  const meta = storedBuildRecord(folder, index)
  return meta && { index, epoch: meta.epoch, after: meta.after, checkpoint: meta.safe, heartbeat: meta.progress }
}

/** The builds of a projection in a folder, by name, without one that is just being created. */
export function storedBuilds(folder: string, projection: string): readonly StoredBuild[] {
  return namesIn(folder)
    .filter((name) => isBuildOf(projection, name))
    .sort()
    .flatMap((index) => storedBuild(folder, index) ?? [])
}

/** The workspaces that a build has folders for. There may be other files, from the file system or from who copied it. */
export function workspacesIn(folder: string, index: IndexName): readonly WorkspaceId[] {
  const entries = looked(buildFolder(folder, index), (path) => readdirSync(path, { withFileTypes: true }))
  return entries
    .filter((entry) => entry.isDirectory() && isWorkspaceId(entry.name))
    .map(({ name }) => workspaceIdOf(name))
}

/** A database that was written to is never empty. An empty file was emptied by somebody, and SQLite takes it for a new one. */
const isEmpty = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.size === 0

/** The days of a workspace that a build has files for; none if it was erased meanwhile. An emptied file counts as gone. */
export function daysIn(folder: string, index: IndexName, workspaceId: WorkspaceId): readonly string[] {
  const own = workspaceFolder(folder, index, workspaceId)
  return namesIn(own).flatMap((name) => {
    const day = dayOfFile(name)
    return day === undefined || isEmpty(join(own, name)) ? [] : day
  })
}

/** Removes a build's folder. It is renamed first, so that after an interruption it is no longer taken for a build. */
export function dropBuild(folder: string, index: IndexName): void {
  const going = droppedFolder(folder, index)
  try {
    rmSync(going, { recursive: true, force: true })
    if (existsSync(buildFolder(folder, index))) renameSync(buildFolder(folder, index), going)
    rmSync(going, { recursive: true, force: true })
  } catch (cause) {
    throw new TransientError({ operation: 'drop', subject: index, cause })
  }
}

/**
 * Removes a database's file, with those that SQLite keeps beside it. The file goes first: without its WAL it would pass for a whole one that lacks
 * what was written last.
 */
export function removeFile(file: string): void {
  for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true })
}

/** Removes files from a workspace's folder, and the empty folder, durably. */
export function removeDays(folder: string, files: readonly string[]): void {
  try {
    for (const file of files) removeFile(file)
    if (!existsSync(folder)) return
    syncIfThere(folder)
    if (readdirSync(folder).length > 0) return
    rmdirSync(folder)
    syncIfThere(dirname(folder))
  } catch (cause) {
    throw new TransientError({ operation: 'remove', subject: folder, cause })
  }
}

/** Removes what an interrupted removal has left. */
export function removeDropped(folder: string): void {
  for (const name of namesIn(folder).filter(isDropped)) rmSync(join(folder, name), { recursive: true, force: true })
}
