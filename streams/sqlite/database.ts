import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { isOperatingFailure, PermanentError, TransientError } from '#src/lib/failure.ts'
import { forgetCopied, refuseBesideCopied } from './copied.ts'
import { isFile, suspect } from './suspicion.ts'

/** Which log: its file, and the partition that the file must hold. */
export type LogFile = Readonly<{ file: string; partition: string }>
export type LogDatabase = Readonly<{ database: DatabaseSync; epoch: string }>

/** `TLog` in ASCII: SQLite keeps it in the file's header, so that another program's database is not taken for a log. */
export const applicationId = 0x54_4c_6f_67
export const formatVersion = 1

/**
 * `events.crc` covers the sequence and the header's text; the header's own `crc` covers the payload. `ids` is the memory of
 * the repeat rule (ids.ts).
 */
const schema = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    crc INTEGER NOT NULL,
    subject TEXT,
    header TEXT NOT NULL,
    payload BLOB NOT NULL
  ) STRICT;
  CREATE INDEX events_of_subject ON events (subject, seq) WHERE subject IS NOT NULL;
  CREATE TABLE ids (
    bucket INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (bucket, hash, seq)
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`

const sqliteBusy = 5
const sqliteLocked = 6
const sqliteReadOnly = 8
const sqliteCorrupt = 11
const sqliteFull = 13
const sqliteCantOpen = 14
const sqliteNotADatabase = 26

/** The file ends before a page that it should have. */
const sqliteShortRead = 10 | (2 << 8)

/** SQLite's extended result code of an error of the driver; undefined for any other error. */
function extendedCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined
  return error.errcode
}

/** Its primary one. */
function codeOf(error: unknown): number | undefined {
  const code = extendedCodeOf(error)
  return code === undefined ? undefined : code & 0xff
}

/** The operating system's word that this user may not. */
const isForbidden = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code))

/** Another connection is in the way. */
export const isBusy = (error: unknown): boolean => codeOf(error) === sqliteBusy || codeOf(error) === sqliteLocked

/** After these a connection is as good as before: nothing was written, and the next attempt may succeed. */
export const isHarmless = (error: unknown): boolean => isBusy(error) || codeOf(error) === sqliteFull

/** What the file holds is not what was written. */
export const isCorrupt = (error: unknown): boolean =>
  codeOf(error) === sqliteCorrupt || codeOf(error) === sqliteNotADatabase || extendedCodeOf(error) === sqliteShortRead

/** A log is damaged: the next start of the server can mend it (mending/). */
class DamageError extends PermanentError {}

export function damageOf(
  file: string,
  { operation, hint, cause }: Readonly<{ operation: string; hint?: string; cause?: unknown }>,
): PermanentError {
  const remedy = 'stop the server and start it again: it sets the damaged log aside and goes on with what can be read'
  const text = hint === undefined ? remedy : `${hint}; ${remedy}`
  return new DamageError({ operation, subject: file, cause, hint: text })
}

/** What is to be told of an error. Of damage a note is left, so that the next start looks at all of the log. */
export function toldOf(error: unknown, operation: string, file: string): TransientError | PermanentError {
  const failure = failureOf(error, operation, file)
  if (failure instanceof DamageError) suspect(file, failure.message)
  return failure
}

/** The driver's error as ours, so that none leaves this folder. Ours pass through. */
export function failureOf(error: unknown, operation: string, file: string): TransientError | PermanentError {
  if (isOperatingFailure(error)) return error
  if (isCorrupt(error) && isFile(file)) return damageOf(file, { operation, cause: error })
  const context = { operation, subject: file, cause: error }
  if (isBusy(error)) return new TransientError({ ...context, hint: 'another process is writing to it' })
  const code = codeOf(error)
  if (code === sqliteFull) return new TransientError({ ...context, hint: 'the disk is full: free some space' })
  if (code === sqliteReadOnly || isForbidden(error)) {
    const hint = 'this user may not write it: check its owner, and how its disk is mounted'
    return new PermanentError({ ...context, hint })
  }
  if (code === sqliteCantOpen) {
    return new PermanentError({ ...context, hint: 'the folder must be there, and be writable for this user' })
  }
  return new PermanentError({ ...context, hint: 'check the disk, and whether it is full' })
}

export const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]

/** True when the file holds a log already, false when it is empty; anything else is a PermanentError. */
export function isLog(database: DatabaseSync, file: string): boolean {
  const version = Number(pragma(database, 'user_version'))
  const owner = pragma(database, 'application_id')
  const refuse = (hint: string): PermanentError => new PermanentError({ operation: 'open log', subject: file, hint })
  if (owner === applicationId && version > formatVersion) {
    throw refuse(`it was made by a newer version of Throughline (format ${version}, this is ${formatVersion}): upgrade`)
  }
  if (owner === applicationId && version === formatVersion) return true
  const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()
  if (owner !== 0 || version !== 0 || tables?.['tables'] !== 0) throw refuse('it is not a log of Throughline')
  return false
}

function readMeta(database: DatabaseSync, { file, partition }: LogFile): string {
  const select = database.prepare('SELECT value FROM meta WHERE name = ?')
  const epoch = select.get('epoch')?.['value']
  const found = select.get('partition')?.['value']
  if (typeof epoch !== 'string' || found !== partition) {
    const hint = `it holds partition ${String(found)}, not ${partition}`
    throw new PermanentError({ operation: 'open log', subject: file, hint })
  }
  return epoch
}

/** SQLite does not wait for others when it changes a new file to WAL, so we do. */
function withPatience<T>(attempt: () => T, patienceMs: number): T {
  const until = performance.now() + patienceMs
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error
      Atomics.wait(sleeper, 0, 0, 10)
    }
  }
}

/** WAL with an fsync at each commit, set and read back: what "an ack means durable" stands on. */
function makeDurable(database: DatabaseSync, file: string, busyTimeoutMs: number): void {
  withPatience(() => pragma(database, 'journal_mode = WAL'), busyTimeoutMs)
  database.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
  if (pragma(database, 'journal_mode') === 'wal' && pragma(database, 'synchronous') === 2) return
  throw new PermanentError({
    operation: 'make log durable',
    subject: file,
    hint: 'SQLite would not take journal_mode=WAL with synchronous=FULL here: use a local disk',
  })
}

function createSchema(database: DatabaseSync, { file, partition }: LogFile): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    // Another process may have been faster.
    if (!isLog(database, file)) {
      database.exec(schema)
      const insert = database.prepare('INSERT INTO meta (name, value) VALUES (?, ?)')
      insert.run('epoch', randomUUID())
      insert.run('partition', partition)
    }
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** SQLite opens without a word what this user may only read: whoever starts on it is told so, instead of whoever appends first. */
function checkWritable(database: DatabaseSync): void {
  try {
    database.exec('BEGIN IMMEDIATE; UPDATE meta SET value = value')
  } catch (error) {
    // Somebody else writes to it just now.
    if (!isBusy(error)) throw error
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK')
  }
}

/** Opens a log for writing, and makes it where there is none. */
export function openForWriting(log: LogFile, busyTimeoutMs: number): LogDatabase {
  return openWith(log, { timeout: busyTimeoutMs }, (database) => {
    const made = withPatience(() => isLog(database, log.file), busyTimeoutMs)
    makeDurable(database, log.file, busyTimeoutMs)
    if (!made) createSchema(database, log)
    checkWritable(database)
    // Where it costs no more I/O nothing is left behind in pages that are used on: what is erased must be nowhere.
    database.exec('PRAGMA secure_delete = FAST')
    // Checkpoints are the writer's, off the way of acknowledgements.
    database.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -16384')
  })
}

/**
 * Opens a log that is there, for reading only. Not as a read-only file: what a killed writer left half done could not be rolled
 * back then.
 */
export function openForReading(log: LogFile, busyTimeoutMs: number): LogDatabase {
  return openWith(log, { timeout: busyTimeoutMs, existing: true }, (database) => {
    database.exec('PRAGMA query_only = 1')
    if (isLog(database, log.file)) return
    throw new TransientError({ operation: 'read log', subject: log.file, hint: 'its writer has not made it yet' })
  })
}

function openWith(
  log: LogFile,
  { timeout, existing = false }: Readonly<{ timeout: number; existing?: boolean }>,
  prepare: (database: DatabaseSync) => void,
): LogDatabase {
  let database: DatabaseSync | undefined
  try {
    refuseBesideCopied(log.file)
    // From now on it is another than was copied, and what stands beside it is its own.
    if (!existing) forgetCopied(log.file)
    const location = pathToFileURL(resolve(log.file))
    if (existing) location.searchParams.set('mode', 'rw')
    database = new DatabaseSync(location, { timeout })
    prepare(database)
    return { database, epoch: readMeta(database, log) }
  } catch (error) {
    if (database?.isOpen === true) database.close()
    throw toldOf(error, 'open log', log.file)
  }
}
