import { basename, dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { PermanentError } from '#src/lib/failure.ts'
import type { Database } from './database.ts'

/** Where SQLite keeps `application_id` in a file: four bytes, the highest first (https://sqlite.org/fileformat2.html, section 1.3). */
const ownerOffset = 68

/** Whose a day's file is: a number of its workspace and day, which its path names. Never 0, which is what earlier programs have left there. */
const ownerOf = (path: string): number => crc32(`${basename(dirname(path))}/${basename(path)}`) | 0 || 1

/** Writes whose a new file is, within the transaction that lays it out. */
export const writeOwner = (database: Database, path: string): void =>
  database.exec(`PRAGMA application_id = ${ownerOf(path)}`)

/** A copy of a new file's bytes, for another owner. */
export function ownedBytes(bytes: Uint8Array, path: string): Uint8Array {
  const copy = Buffer.from(bytes)
  copy.writeInt32BE(ownerOf(path), ownerOffset)
  return copy
}

/** A file is not that of the workspace and day whose place it is in. */
export class OtherOwnerError extends PermanentError {}

/**
 * Throws OtherOwnerError if a day's file is that of another workspace or day, as after a backup was put back by hand: its records would be shown to
 * whose folder it is in.
 */
export function checkOwner(database: Database): void {
  const owner = database.get('PRAGMA application_id')?.['application_id'] as bigint
  if (owner === 0n || owner === BigInt(ownerOf(database.path))) return
  const hint =
    'it is the file of another workspace or day: put its own back, or run throughline rebuild for all workspaces'
  throw new OtherOwnerError({ operation: 'open', subject: database.path, hint })
}
