import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PermanentError } from '#src/lib/failure.ts'
import { sqliteCodeOf, sqliteCodes } from '#src/lib/sqlite-errors.ts'

export type HeldLock = Readonly<{ release(): void }>

/**
 * Holds a file for this process alone; undefined when another one does, or its folder is gone. It is an exclusive transaction on an empty database: the
 * system lets go of it when the process ends, however it ends. Its journal is in memory, so that a full disk has room for it.
 */
export function holdLock(path: string): HeldLock | undefined {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: 0 })
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (cause) {
    database?.close()
    if (sqliteCodeOf(cause) === sqliteCodes.busy || !existsSync(dirname(path))) return undefined
    const hint = 'this user must be able to write it, and its disk must have room'
    throw new PermanentError({ operation: 'lock', subject: path, cause, hint })
  }
  const held = database
  return { release: () => held.close() }
}
