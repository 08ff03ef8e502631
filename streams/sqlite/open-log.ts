import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { isBusy } from '#src/lib/sqlite-errors.ts'
import { forgetCopied, refuseBesideCopied } from './copied.ts'
import { notedFailureOf } from './failure.ts'
import { createSchema, isLog, pragma, readEpoch, type LogFile } from './log-file.ts'

type LogDatabase = Readonly<{ database: DatabaseSync; epoch: string }>

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
    return { database, epoch: readEpoch(database, log) }
  } catch (error) {
    if (database?.isOpen === true) database.close()
    throw notedFailureOf(error, 'open log', log.file)
  }
}
