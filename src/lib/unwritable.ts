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
 * Which file keeps this user from writing a database of SQLite: its own, or one beside it, which SQLite makes with the mode that the database has
 * just then, and names in no error. The database's own where none of them does.
 */
export const unwritableOf = (file: string): string =>
  [file, `${file}-wal`, `${file}-shm`].find((path) => existsSync(path) && !mayWrite(path)) ?? file
