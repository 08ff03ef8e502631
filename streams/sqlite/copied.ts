import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Position } from '#src/events/envelope.ts'
import { syncFolder, writeDurably } from '#src/lib/durable-files.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { nextOf } from './side-files.ts'
import { bytesOf } from './file-stat.ts'

// A backup's log has a note beside it of what was copied, until somebody writes to it. Whoever puts the backup over a data folder leaves
// there what stands beside the log that was in its place, a WAL above all, which SQLite would apply to any database of that name.

/** `at`: when, RFC 3339. `head`: the last position. */
export type Copied = Readonly<{ at: string; head: Position; bytes: number; sha256: string }>

const noteOf = (file: string): string => `${file}.copied`
/** What of a log stands beside its file and holds more than its file does. */
const sideFilesOf = (file: string): readonly string[] => [
  `${file}-wal`,
  `${file}-journal`,
  nextOf(file),
  `${nextOf(file)}-wal`,
]

const chunkBytes = 1024 * 1024

function sha256Of(file: string): string {
  const hash = createHash('sha256')
  const chunk = Buffer.alloc(chunkBytes)
  const descriptor = openSync(file, 'r')
  try {
    for (let bytes = readSync(descriptor, chunk); bytes > 0; bytes = readSync(descriptor, chunk)) {
      hash.update(chunk.subarray(0, bytes))
    }
  } finally {
    closeSync(descriptor)
  }
  return hash.digest('hex')
}

/** To be called when the copy is on the disk. */
export function noteCopied(file: string, { at, head }: Pick<Copied, 'at' | 'head'>): void {
  const note: Copied = { at, head, bytes: bytesOf(file), sha256: sha256Of(file) }
  writeDurably(noteOf(file), `${JSON.stringify(note)}\n`)
}

/** Undefined where there is no note, or none that can be read. */
function copiedOf(file: string): Copied | undefined {
  if (!existsSync(noteOf(file))) return undefined
  try {
    const note = JSON.parse(readFileSync(noteOf(file), 'utf8')) as Copied
    return typeof note.sha256 === 'string' ? note : undefined
  } catch {
    return undefined
  }
}

/** The note of a file that is still as it was copied. Throws PermanentError where it is not: the copy of the copy is not whole. */
export function checkCopied(file: string): Copied | undefined {
  const note = copiedOf(file)
  if (note === undefined) return undefined
  const bytes = bytesOf(file)
  if (bytes === note.bytes && sha256Of(file) === note.sha256) return note
  const found = bytes === note.bytes ? 'it has other bytes' : `it has ${bytes} bytes of ${note.bytes}`
  const hint =
    `it is not as the backup of ${note.at} has it, ${found}: copy all of that backup again, into an empty folder; or, to go on with what ` +
    `is here, remove ${noteOf(file)}`
  throw new PermanentError({ operation: 'start', subject: file, hint })
}

export function forgetCopied(file: string): void {
  if (!existsSync(noteOf(file))) return
  rmSync(noteOf(file), { force: true })
  syncFolder(dirname(file))
}

/** What stands beside a file that was copied and not been written to since, and so is not its own. */
export const besideCopied = (file: string): readonly string[] => sideFilesOf(file).filter((side) => bytesOf(side) > 0)

/** Refuses to open a copied log with the WAL of another beside it; a start of the server takes that away. */
export function refuseBesideCopied(file: string): void {
  if (!existsSync(noteOf(file)) || besideCopied(file).length === 0) return
  const hint =
    'a backup was put over it, and what was left of the log before is still beside it: start the server first'
  throw new PermanentError({ operation: 'open log', subject: file, hint })
}
