import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { TransientError } from '#src/lib/failure.ts'
import { bytesLeftIn } from '#src/lib/room-left.ts'
import { isHarmless } from './failure.ts'
import { pragma } from './log-file.ts'
import { bytesOf } from './file-stat.ts'

// Moves what is committed from the WAL into the database.

/**
 * Beyond this many times `checkpointBytes` the WAL is restarted even if that means waiting for readers, and also on a disk that says it lacks room:
 * so much would not have been written to it, if that were so.
 */
const checkpointPatience = 16
/** How long to wait for them. Appends wait meanwhile, and a reader that copies the log may take minutes. */
const restartPatienceMs = 20
/** Longer, because an erasure that fails must scan the log from its beginning again. */
const erasePatienceMs = 200
/** What a checkpoint leaves of a disk: one that ends on a full disk has taken what was left of it, and frees nothing. */
const leftFreeBytes = 1024 * 1024

/** What is left of the disk of a folder, unless it is asked itself; undefined where that is not known. */
export type Disk = Readonly<{ bytesLeft?: ((folder: string) => number | undefined) | undefined }>
/** A log that is open, and its disk. */
type Opened = Readonly<{ database: DatabaseSync; file: string }> & Disk

/** False where the disk is known to lack room for what is in the WAL alone. */
function mayHaveRoom({ database, file, bytesLeft = bytesLeftIn }: Opened): boolean {
  const bytes = Number(pragma(database, 'page_count')) * Number(pragma(database, 'page_size'))
  const growth = bytes - bytesOf(file)
  if (growth <= 0) return true
  const left = bytesLeft(dirname(file))
  return left === undefined || left >= growth + leftFreeBytes
}

/**
 * SQLite checkpoints as the last connection is closed. Where there is no room for that, it is not the last: one that may only read is closed after
 * it, which leaves the WAL as it is.
 */
export function closeTidily(opened: Opened): void {
  const { database, file } = opened
  let other: DatabaseSync | undefined
  try {
    if (!mayHaveRoom(opened)) {
      other = new DatabaseSync(file, { readOnly: true })
      other.prepare('SELECT 1 FROM sqlite_schema').get()
    }
  } catch {
    // As of one whose files are gone: it is closed as it is.
  }
  database.close()
  other?.close()
}

/** Runs a checkpoint. True if the database now holds everything from the WAL. */
function checkpoint(database: DatabaseSync, mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE', patienceMs: number): boolean {
  const before = Number(pragma(database, 'busy_timeout'))
  pragma(database, `busy_timeout = ${patienceMs}`)
  try {
    const { busy, log, checkpointed } = database.prepare(`PRAGMA wal_checkpoint(${mode})`).get() ?? {}
    return busy === 0 && log === checkpointed
  } finally {
    pragma(database, `busy_timeout = ${before}`)
  }
}

/** Waits a little for readers. */
export const restartWal = (database: DatabaseSync): boolean => checkpoint(database, 'RESTART', erasePatienceMs)

export function emptyWal(database: DatabaseSync, file: string): void {
  const context = { operation: 'empty the WAL of log', subject: file, hint: 'readers hold it: try again' }
  try {
    if (!checkpoint(database, 'TRUNCATE', erasePatienceMs)) throw new TransientError(context)
  } catch (cause) {
    throw isHarmless(cause) ? new TransientError({ ...context, cause }) : cause
  }
}

/**
 * Decides when the WAL is due for a checkpoint, by the bytes written to it. What earlier writers left in it counts: each may have been replaced
 * before its own were enough, and where one takes over from another, SQLite never tidies at the end of the last.
 */
export function createTidiness(opened: Opened, checkpointBytes: number) {
  const { database, file } = opened
  // At most: a file stays as long as it was when it is begun anew.
  let untidyBytes = bytesOf(`${file}-wal`)
  /** Bytes that the last attempt may have left because of readers. The next attempt waits for another `checkpointBytes`. */
  let leftBytes = 0
  return {
    grown: (bytes: number): void => void (untidyBytes += bytes),
    tidy: (): void => {
      if (untidyBytes - leftBytes < checkpointBytes) return
      const isOverdue = untidyBytes >= checkpointPatience * checkpointBytes
      if (!isOverdue && !mayHaveRoom(opened)) return
      leftBytes = untidyBytes
      if (checkpoint(database, isOverdue ? 'RESTART' : 'PASSIVE', restartPatienceMs)) untidyBytes = leftBytes = 0
    },
  }
}
