import { join } from 'node:path'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName } from '../../index-store.ts'

// Where the files of a folder of indexes are.

export const buildFolder = (folder: string, index: IndexName): string => join(folder, index)
export const workspaceFolder = (folder: string, index: IndexName, workspaceId: WorkspaceId): string =>
  join(folder, index, workspaceId)
/** A build is moved here before it is removed, so that a half-removed one is never taken for a build. */
export const droppedFolder = (folder: string, index: IndexName): string => join(folder, `${index}.dropped`)
export const isDropped = (name: string): boolean => name.endsWith('.dropped')
export const metaPath = (folder: string, index: IndexName): string => join(folder, index, 'meta.db')
export const livePath = (folder: string): string => join(folder, 'live.db')

export const dayPath = (folder: string, index: IndexName, workspaceId: WorkspaceId, day: string): string =>
  join(workspaceFolder(folder, index, workspaceId), `${day}.db`)
const dayFile = /^(\d{4}-\d\d-\d\d)\.db(-wal|-shm)?$/
/** `2026-11-21.db` → `2026-11-21`; undefined for any other file. */
export function dayOfFile(name: string): string | undefined {
  const [, day, beside] = dayFile.exec(name) ?? []
  return beside === undefined ? day : undefined
}
/** The day of a file, or of the WAL files beside it: after an interrupted removal, only these may be left. */
export const dayOfAnyFile = (name: string): string | undefined => dayFile.exec(name)?.[1]
