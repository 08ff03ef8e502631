import { accessSync, constants, existsSync } from 'node:fs'

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Which file keeps this user from writing a SQLite database: its own, or one that SQLite keeps beside it. SQLite makes those with the mode that the
 * database has at that moment, and names them in no error. If none does: the database's own.
 */
export const unwritableOf = (file: string): string =>
  [file, `${file}-wal`, `${file}-shm`].find((path) => existsSync(path) && !mayWrite(path)) ?? file
