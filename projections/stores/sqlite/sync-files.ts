import { closeSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { TransientError } from '#src/lib/failure.ts'

/** Makes a file durable, or the creation and removal of files in a folder, unless it is gone. */
export function syncIfThere(path: string): void {
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch (cause) {
    // A missing WAL was moved into its database, which SQLite syncs first.
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new TransientError({ operation: 'sync', subject: path, cause })
  }
  try {
    fsyncSync(descriptor)
  } catch (cause) {
    throw new TransientError({ operation: 'sync', subject: path, cause })
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Makes all commits to these databases (WAL, synchronous=NORMAL) durable: their WALs hold every commit that is not in the database file yet, and
 * SQLite syncs both when it moves commits there. `created`: new files, whose names must be durable too.
 */
export function syncDatabases(paths: Iterable<string>, created: Iterable<string>): void {
  for (const path of paths) syncIfThere(`${path}-wal`)
  const folders = new Set<string>()
  for (const path of created) {
    syncIfThere(path)
    for (const folder of [dirname(path), dirname(dirname(path)), dirname(dirname(dirname(path)))]) folders.add(folder)
  }
  for (const folder of folders) syncIfThere(folder)
}
