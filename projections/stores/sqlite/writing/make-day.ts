import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isOperatingFailure, TransientError } from '#src/lib/failure.ts'
import { diskObstacleIn } from '#src/lib/room-left.ts'
import { removeFile } from '../build-folders.ts'
import { openDatabase, transaction } from '../database.ts'
import { ownedBytes, writeOwner } from '../file-owner.ts'
import { layOutDay, type Tables } from '../layout.ts'

/** Makes a day's file with its tables and without rows, unless it is there; true if it made one. */
export type MakeDay = (path: string) => boolean

/** The file that SQLite makes, which it syncs six times on the way. `path`: where it will be. */
function laidOut(made: string, path: string, collections: readonly Tables[], epoch: string): Uint8Array {
  const database = openDatabase(made)
  try {
    transaction(database, () => {
      layOutDay(database, collections, epoch)
      writeOwner(database, path)
    })
    // Closing moves the WAL into the file too, but does not say when it could not, as on a full disk.
    database.get('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
  return readFileSync(made)
}

/**
 * The files of a build all begin alike, but for whose they are. So the first is laid out by SQLite, and the others are copies of it: each workspace has a file
 * each day, and all of them begin at once. Each is whole, and on the disk, before it has its name.
 */
export function createMakeDay(collections: readonly Tables[], epoch: string, { flush = true } = {}): MakeDay {
  let bytes: Uint8Array | undefined
  return (path) => {
    if (existsSync(path)) return false
    const made = `${path}-new`
    try {
      // A killed process may have left it, or, in a removal, only the WAL of an earlier file, which SQLite would take for that of the new one.
      for (const left of [made, path]) removeFile(left)
      if (bytes === undefined) bytes = laidOut(made, path, collections, epoch)
      else writeFileSync(made, ownedBytes(bytes, path), { flush })
      renameSync(made, path)
    } catch (cause) {
      if (isOperatingFailure(cause)) throw cause
      const hint =
        diskObstacleIn(dirname(path)) ?? 'its folder must be writable for this user, and its disk must have room'
      throw new TransientError({ operation: 'make', subject: path, cause, hint })
    }
    return true
  }
}
