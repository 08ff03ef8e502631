import { existsSync } from 'node:fs'
import { hasNoRoomToShare } from '#src/lib/sqlite-errors.ts'
import { openDatabaseAlone, openDatabaseToRead, type Database } from './database.ts'

/**
 * Reads a file; undefined if there is none. If a file is removed meanwhile, SQLite reports it as damaged, or a failing disk: that counts as none
 * too.
 */
export function ifThere<T>(path: string, read: () => T): T | undefined {
  if (!existsSync(path)) return undefined
  try {
    return read()
  } catch (error) {
    if (existsSync(path)) throw error
    return undefined
  }
}

/**
 * A file opened by `open`, and what `begin` finds in it; undefined if there is no file, or `begin` finds nothing, as in a file that is just
 * being created.
 */
export function openIfThere<T>(
  path: string,
  open: (path: string) => Database,
  begin: (database: Database) => T | undefined,
): Readonly<{ database: Database; found: T }> | undefined {
  return ifThere(path, () => {
    const database = open(path)
    let found: T | undefined
    try {
      found = begin(database)
    } finally {
      if (found === undefined) database.close()
    }
    return found === undefined ? undefined : { database, found }
  })
}

/** As `openIfThere`, but closes the file again; also where the disk is full. */
export function readIfThere<T>(path: string, read: (database: Database) => T | undefined): T | undefined {
  const readBy = (open: (path: string) => Database): T | undefined => {
    const opened = openIfThere(path, open, read)
    opened?.database.close()
    return opened?.found
  }
  try {
    return readBy(openDatabaseToRead)
  } catch (error) {
    if (!(error instanceof Error && hasNoRoomToShare(error.cause))) throw error
    return readBy(openDatabaseAlone)
  }
}
