import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import type { Position } from '#src/events/envelope.ts'
import { removeDurably, writeDurably } from '#src/lib/durable-files.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { nextOf } from './side-files.ts'
import { bytesOf } from './file-stat.ts'

// A backed-up log has a note beside it that says what was copied, until somebody writes to the log. When a backup is
// put over a data folder, files of the old log may stay beside it, such as its WAL. SQLite would apply that WAL to any
// database of the same name.

/** `at`: when it was copied, RFC 3339. `head`: the last position. */
export type Copied = Readonly<{ at: string; head: Position; bytes: number; sha256: string }>

const noteOf = (file: string): string => `${file}.copied`
/** The files beside a log that may hold data which its own file does not. */
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

/** Call it when the copy is on disk. */
export function noteCopied(file: string, { at, head }: Pick<Copied, 'at' | 'head'>): void {
  const note: Copied = { at, head, bytes: bytesOf(file), sha256: sha256Of(file) }
  writeDurably(noteOf(file), `${JSON.stringify(note)}\n`)
}

/** Undefined if there is no note, or none that can be read. */
function copiedOf(file: string): Copied | undefined {
  if (!existsSync(noteOf(file))) return undefined
  try {
    const note = JSON.parse(readFileSync(noteOf(file), 'utf8')) as Copied
    return typeof note.sha256 === 'string' ? note : undefined
  } catch {
    return undefined
  }
}

/** The note of a file that is still as it was copied. Throws PermanentError if it is not: this copy is then incomplete. */
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

export const forgetCopied = (file: string): void => removeDurably(noteOf(file))

/** Files beside a copied log that nobody has written to since: they belong to another log. */
export const besideCopied = (file: string): readonly string[] => sideFilesOf(file).filter((side) => bytesOf(side) > 0)

/** Refuses to open a copied log that has another log's WAL beside it. Starting the server removes that WAL. */
export function refuseBesideCopied(file: string): void {
  if (!existsSync(noteOf(file)) || besideCopied(file).length === 0) return
  const hint =
    'a backup was put over it, and what was left of the log before is still beside it: start the server first'
  throw new PermanentError({ operation: 'open log', subject: file, hint })
}
