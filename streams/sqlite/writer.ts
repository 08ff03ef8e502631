import type { DatabaseSync } from 'node:sqlite'
import { positionStep, type Position } from '#src/events/envelope.ts'
import { isOperatingFailure, TransientError, type PermanentError } from '#src/lib/failure.ts'
import { closeTidily, createTidiness, emptyWal, restartWal, type Disk } from './checkpoints.ts'
import { openForWriting } from './open-log.ts'
import { damageOf, isHarmless, notedFailureOf } from './failure.ts'
import type { LogFile } from './log-file.ts'
import type { ErasureStep } from './erase.ts'
import { inodeOf } from './file-stat.ts'
import { prepare, writeGroup, type Group, type Outcome, type Statements } from './write-group.ts'

export type LogWriterOptions = LogFile & Readonly<{ busyTimeoutMs: number; checkpointBytes: number }>
export type LogWriter = Readonly<{
  /**
   * One transaction for all calls of the group; returns when they are durable. Throws TransientError if none was written or if that is
   * unknown, and always after an I/O error. `broken` is then true until the log is opened again.
   */
  commit(group: Group): readonly Outcome[]
  broken(): boolean
  /**
   * One step of removing the events at or below a position, in one transaction. False when nothing is left to do. Throws as `commit` does.
   */
  cut(upTo: Position): boolean
  /** One step of erasing, in one transaction. Returns where to go on, undefined when the files hold none of it. Throws as `commit` does. */
  erase(step: ErasureStep): number | undefined
  /** Moves committed pages from the WAL into the database once there are enough. Call it after the ack. */
  tidy(): void
  close(): void
}>

/** Roughly what a small event takes in the WAL besides its payload. */
const overheadBytes = 4096

/** Which files have the log's names now. An open file can lose its name: writes to it still succeed, and nobody can find them again. */
const filesNamed = (file: string): string => [file, `${file}-wal`].map(inodeOf).join()

/**
 * Moves the WAL into the database while this process still has it open. If only the WAL's name is gone, the next start then finds
 * everything.
 */
function filesRemoved(database: DatabaseSync, file: string): PermanentError {
  const hint = 'its files were removed or replaced while it was open, and what is written to it now would be lost'
  try {
    restartWal(database)
  } catch {
    // The next start reads the whole log and reports what is lost.
  }
  return damageOf(file, { operation: 'append to log', hint })
}

/** Runs what may fail, until there is an I/O error: after a failed sync, a later one may report lost pages as written. */
function createAttempts({ begin, commit, rollback }: Statements, database: DatabaseSync, file: string) {
  const opened = filesNamed(file)
  let failure: Error | undefined
  const stopped = (): TransientError =>
    new TransientError({ operation: 'append to log', subject: file, cause: failure, hint: 'stopped: open it anew' })
  function stop(error: unknown): Error {
    failure = notedFailureOf(error, 'write to log', file)
    return stopped()
  }
  /** Our own failures, as of damage that a task meets, come before anything is written: the next task may succeed. */
  const fail = (error: unknown): Error =>
    isOperatingFailure(error) || isHarmless(error) ? notedFailureOf(error, 'append to log', file) : stop(error)

  function attempt<T>(task: () => T): T {
    if (failure !== undefined) throw stopped()
    try {
      return task()
    } catch (error) {
      const failed = fail(error)
      try {
        rollback()
      } catch (second) {
        failure ??= second instanceof Error ? second : new Error(String(second))
      }
      throw failed
    }
  }
  return {
    attempt,
    inTransaction: <T>(task: () => T): T =>
      attempt(() => {
        begin()
        const done = task()
        commit()
        if (filesNamed(file) !== opened) throw stop(filesRemoved(database, file))
        return done
      }),
    broken: (): boolean => failure !== undefined,
  }
}

/** The only writer of a log in this process. It blocks while it syncs: run it in its own thread if the process serves others. */
export function createLogWriter(options: LogWriterOptions & Disk, announce: (head: Position) => void): LogWriter {
  const { file, bytesLeft } = options
  const { database } = openForWriting(options, options.busyTimeoutMs)
  const opened = { database, file, bytesLeft }
  const statements = prepare(database, file)
  const { attempt, inTransaction, broken } = createAttempts(statements, database, file)
  const wal = createTidiness(opened, options.checkpointBytes)

  function commit(group: Group): readonly Outcome[] {
    const { outcomes, head, written } = inTransaction(() => writeGroup(group, statements))
    if (written === 0) return outcomes
    wal.grown(group.payloads.length + written * overheadBytes)
    announce(head * positionStep)
    return outcomes
  }

  function cut(upTo: Position): boolean {
    const removed = inTransaction(() => {
      // The last event stays, because the next sequence is counted from it.
      statements.cut.set(Math.min(Math.floor(upTo / positionStep), statements.head() - 1))
      return statements.cut.sweep()
    })
    wal.grown(removed * overheadBytes)
    return removed > 0
  }

  /** Freed pages are overwritten. The WAL is emptied, because it still holds the old content. */
  function erase(step: ErasureStep): number | undefined {
    database.exec('PRAGMA secure_delete = ON')
    try {
      const next = inTransaction(() => statements.erase.step(step))
      wal.grown(overheadBytes)
      if (next !== undefined) return next
      attempt(() => emptyWal(database, file))
      inTransaction(() => statements.erase.finish(step))
      return undefined
    } finally {
      database.exec('PRAGMA secure_delete = FAST')
    }
  }

  function tidy(): void {
    try {
      attempt(wal.tidy)
    } catch {
      // It is tried again after the next commit, which fails if nothing can be written any more.
    }
  }

  return { commit, cut, erase, broken, tidy, close: () => closeTidily(opened) }
}
