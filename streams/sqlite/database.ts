import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { isOperatingFailure, PermanentError, TransientError } from '#src/lib/failure.ts'
import { isBusy, isCorrupt, isDiskFull, sqliteCodeOf, sqliteCodes } from '#src/lib/sqlite-errors.ts'
import { unwritableOf } from '#src/lib/unwritable.ts'
import { forgetCopied, refuseBesideCopied } from './copied.ts'
import { suspect } from './suspicion.ts'
import { isFile } from './file-stat.ts'

/** Which log: its file, and the partition the file must hold. */
export type LogFile = Readonly<{ file: string; partition: string }>
type LogDatabase = Readonly<{ database: DatabaseSync; epoch: string }>

/** `TLog` in ASCII. SQLite keeps it in the file's header, so another program's database is not mistaken for a log. */
export const applicationId = 0x54_4c_6f_67
export const formatVersion = 1

/**
 * `events.crc` covers the sequence and the header's text. The header's own `crc` covers the payload. `ids` lets the repeat rule find
 * earlier ids (ids.ts).
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

/** The operating system refused permission. */
const isForbidden = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code))

/** After these the connection is still good: nothing was written, and the next attempt may succeed. */
export const isHarmless = (error: unknown): boolean => isBusy(error) || sqliteCodeOf(error) === sqliteCodes.full

/** A log is damaged. The next start of the server can mend it (mending/). */
class DamageError extends PermanentError {}

export function damageOf(
  file: string,
  { operation, hint, cause }: Readonly<{ operation: string; hint?: string; cause?: unknown }>,
): PermanentError {
  const remedy = 'stop the server and start it again: it sets the damaged log aside and goes on with what can be read'
  const text = hint === undefined ? remedy : `${hint}; ${remedy}`
  return new DamageError({ operation, subject: file, cause, hint: text })
}

/** The error to report. Damage also leaves a note, so that the next start checks the whole log. */
export function toldOf(error: unknown, operation: string, file: string): TransientError | PermanentError {
  const failure = failureOf(error, operation, file)
  if (failure instanceof DamageError) suspect(file, failure.message)
  return failure
}

/** Turns the driver's error into ours, so that none leaves this folder. Our own errors pass through. */
export function failureOf(error: unknown, operation: string, file: string): TransientError | PermanentError {
  if (isOperatingFailure(error)) return error
  if (isCorrupt(error) && isFile(file)) return damageOf(file, { operation, cause: error })
  const context = { operation, subject: file, cause: error }
  if (isBusy(error)) return new TransientError({ ...context, hint: 'another process is writing to it' })
  if (isDiskFull(error)) return new TransientError({ ...context, hint: 'the disk is full: free some space' })
  const code = sqliteCodeOf(error)
  if (code === sqliteCodes.readOnly || isForbidden(error)) {
    const hint = 'this user may not write it: check its owner and mode, and how its disk is mounted'
    return new PermanentError({ ...context, subject: unwritableOf(file), hint })
  }
  if (code === sqliteCodes.cannotOpen) {
    return new PermanentError({ ...context, hint: 'the folder must be there, and be writable for this user' })
  }
  return new PermanentError({ ...context, hint: 'check the disk, and whether it is full' })
}

export const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]

/** True if the file already holds a log, false if it is empty. Anything else is a PermanentError. */
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

/** SQLite does not wait for other connections when it switches a new file to WAL, so we do. */
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

/** WAL with an fsync at each commit, set and read back: "an ack means durable" depends on it. */
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
    // Another process may have been first.
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

/** SQLite silently opens a file this user may only read. The error must come at the start, not at the first append. */
function checkWritable(database: DatabaseSync): void {
  try {
    database.exec('BEGIN IMMEDIATE; UPDATE meta SET value = value')
  } catch (error) {
    // Another process is writing to it right now.
    if (!isBusy(error)) throw error
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK')
  }
}

/** Opens a log for writing, and creates it if there is none. */
export function openForWriting(log: LogFile, busyTimeoutMs: number): LogDatabase {
  return openWith(log, { timeout: busyTimeoutMs }, (database) => {
    const made = withPatience(() => isLog(database, log.file), busyTimeoutMs)
    makeDurable(database, log.file, busyTimeoutMs)
    if (!made) createSchema(database, log)
    checkWritable(database)
    // Overwrites deleted content where that costs no extra I/O: erased data must not stay in reused pages.
    database.exec('PRAGMA secure_delete = FAST')
    // The writer runs checkpoints itself, after the acknowledgement.
    database.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -16384')
  })
}

/**
 * Opens an existing log for reading only. The file itself is not opened read-only: SQLite could then not roll back what a killed writer
 * left half done.
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
    // From now on it differs from what was copied, and the files beside it are its own.
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
