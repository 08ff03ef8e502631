import { sep } from 'node:path'
import type { Database } from './database.ts'

/** Open connections by path, at most `openMax`; the least recently used is closed first. */
export type OpenFiles = Readonly<{
  /** The connection, opened by `open` if it is not open yet. */
  use<Opened extends Database | undefined>(path: string, open: () => Opened): Database | Opened
  close(path: string): void
  /** Those of a folder and of the folders in it. */
  closeWithin(folder: string): void
  closeAll(): void
}>

/** `onClose` runs before a connection is closed. `inUse`: connections that must stay open for now. */
export function createOpenFiles(
  openMax: number,
  onClose: (database: Database) => void,
  inUse: (database: Database) => boolean = () => false,
): OpenFiles {
  const files = new Map<string, Database>()
  const close = (path: string, database: Database): void => {
    onClose(database)
    files.delete(path)
    database.close()
  }
  const makeRoom = (): void => {
    for (const [path, database] of files) {
      if (files.size < openMax) return
      if (!inUse(database)) close(path, database)
    }
  }
  return {
    use(path, open) {
      const known = files.get(path)
      if (known !== undefined) {
        files.delete(path)
        files.set(path, known)
        return known
      }
      makeRoom()
      const opened = open()
      if (opened !== undefined) files.set(path, opened)
      return opened
    },
    close(path) {
      const known = files.get(path)
      if (known !== undefined) close(path, known)
    },
    closeWithin(folder) {
      for (const [path, database] of files) if (path.startsWith(`${folder}${sep}`)) close(path, database)
    },
    closeAll() {
      for (const [path, database] of files) close(path, database)
    },
  }
}
