import { crc32 } from 'node:zlib'
import type { DatabaseSync } from 'node:sqlite'
import { beforeAll, positionStep, type EventId, type Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { isOperatingFailure, PermanentError, TransientError } from '#src/lib/failure.ts'
import { appendedOf, withBeside, type Appended, type AppendedEvent, type Expected } from '../stream.ts'
import { createCut, type Cut } from './cut.ts'
import { damageOf, isHarmless, openForWriting, pragma, toldOf, type LogFile } from './database.ts'
import { createIdLookup, createIdTable, type Found } from './ids.ts'
import { bytesOf, inodeOf } from './file-stat.ts'
import { createErase, type Erase, type ErasureStep } from './erase.ts'
import { rowCrc } from './row.ts'

/** An event on its way to the writer: what the writer must know, the header as text, and the number of payload bytes. */
type PackedEvent = Readonly<{
  id: EventId
  workspaceId: WorkspaceId
  /** This event erases its workspace. */
  isErasing: boolean
  receivedAt: number
  subject: string | null
  header: string
  crc: number
  bytes: number
}>
export type PackedCall = Readonly<{
  events: readonly PackedEvent[]
  expected: Expected | null
}>
/** Calls that share a commit. `payloads` holds the payloads of all their events in order. It can be transferred to a thread. */
export type Group = Readonly<{ calls: readonly PackedCall[]; payloads: Uint8Array }>

/** The result of one call of a group; only `appended` has written anything. */
export type Outcome =
  | Readonly<{ kind: 'appended'; appended: Appended }>
  | Readonly<{ kind: 'conflict' }>
  | Readonly<{ kind: 'refused'; reason: string }>

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

/** Beyond this many times `checkpointBytes` the WAL is restarted even if that means waiting for readers. */
const checkpointPatience = 16
/** How long to wait for them. Appends wait meanwhile, and a reader that copies the log may take minutes. */
const restartPatienceMs = 20
/** Longer, because an erasure that fails must scan the log from its beginning again. */
const erasePatienceMs = 200
/** Roughly what a small event takes in the WAL besides its payload. */
const overheadBytes = 4096

type Statements = Readonly<{
  begin(): void
  commit(): void
  rollback(): void
  head(): number
  headOfSubject(subject: string): Position
  insert(seq: number, event: PackedEvent, payload: Uint8Array): void
  lookup(id: EventId, at: number): Found | undefined
  forget(at: number, max: number): void
  cut: Cut
  erase: Erase
}>

function prepare(database: DatabaseSync, file: string): Statements {
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const head = database.prepare('SELECT max(seq) AS seq FROM events')
  const headOfSubject = database.prepare('SELECT max(seq) AS seq FROM events WHERE subject = ?')
  const insert = database.prepare('INSERT INTO events (seq, crc, subject, header, payload) VALUES (?, ?, ?, ?, ?)')
  const ids = createIdTable(database)
  const cut = createCut(database)
  const sequence = (row: Record<string, unknown> | undefined): number =>
    typeof row?.['seq'] === 'number' ? row['seq'] : 0
  return {
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    rollback: () => {
      // SQLite rolls back by itself after some errors.
      if (database.isTransaction) database.exec('ROLLBACK')
    },
    head: () => sequence(head.get()),
    headOfSubject: (subject) => {
      const seq = sequence(headOfSubject.get(subject))
      return seq > cut.mark() ? seq * positionStep : beforeAll
    },
    insert: (seq, event, payload) => {
      insert.run(seq, rowCrc(seq, event.header), event.subject, event.header, payload)
      ids.remember(event.id, event.receivedAt, seq)
    },
    lookup: createIdLookup(database),
    forget: ids.forget,
    cut,
    erase: createErase(database, ids, file),
  }
}

/** The events of one call, with their payloads sliced from the group's bytes. */
function* unpack(group: Group): Generator<readonly [PackedCall, readonly Uint8Array[]]> {
  let offset = 0
  for (const call of group.calls) {
    yield [call, call.events.map(({ bytes }) => group.payloads.subarray(offset, (offset += bytes)))]
  }
}

type Plan = Readonly<{ refused: Outcome }> | Readonly<{ found: readonly (Found | undefined)[] }>

/** Decides about a call before writing any of it, so that calls in one transaction stay independent. */
function plan(
  { events, expected }: PackedCall,
  payloads: readonly Uint8Array[],
  { lookup, headOfSubject }: Statements,
): Plan {
  try {
    const damaged = events.find(({ crc }, index) => crc32(payloads[index] as Uint8Array) !== crc)
    if (damaged !== undefined) {
      return { refused: { kind: 'refused', reason: `the crc of event ${damaged.id} is not its payload’s` } }
    }
    const known = events.map(({ id, receivedAt }) => lookup(id, receivedAt))
    const found = withBeside(events, known)
    const retry = found.every((first) => first !== undefined)
    if (expected === null || retry || headOfSubject(expected.subject) === expected.position) return { found }
    return { refused: { kind: 'conflict' } }
  } catch (error) {
    // The header of an earlier event is damaged. That must not fail the other calls.
    if (error instanceof PermanentError) return { refused: { kind: 'refused', reason: error.message } }
    throw error
  }
}

function writeCall(
  { events }: PackedCall,
  payloads: readonly Uint8Array[],
  found: readonly (Found | undefined)[],
  head: number,
  { lookup, insert, erase }: Statements,
): Appended {
  let seq = head
  const written = new Set<EventId>()
  const workspaces = new Set<WorkspaceId>()
  const places = events.map((event, index): AppendedEvent => {
    const first = found[index] ?? (written.has(event.id) ? lookup(event.id, event.receivedAt) : undefined)
    if (first !== undefined) return { position: first.position, repeated: first.header }
    insert(++seq, event, payloads[index] as Uint8Array)
    written.add(event.id)
    if (!event.isErasing) workspaces.add(event.workspaceId)
    return { position: seq * positionStep }
  })
  for (const workspaceId of workspaces) erase.appended(workspaceId)
  return appendedOf(places)
}

function writeGroup(
  group: Group,
  statements: Statements,
): Readonly<{ outcomes: readonly Outcome[]; head: number; written: number }> {
  const before = statements.head()
  let head = before
  let oldest = Number.POSITIVE_INFINITY
  const outcomes: Outcome[] = []
  for (const [call, payloads] of unpack(group)) {
    const planned = plan(call, payloads, statements)
    if ('refused' in planned) {
      outcomes.push(planned.refused)
      continue
    }
    const appended = writeCall(call, payloads, planned.found, head, statements)
    outcomes.push({ kind: 'appended', appended })
    head += call.events.length - appended.duplicates
    for (const { receivedAt } of call.events) oldest = Math.min(oldest, receivedAt)
  }
  // Proportional to what was written, so that forgetting keeps up, and bounded, so that no commit waits for it long.
  if (head > before) statements.forget(oldest, 256 + 2 * (head - before))
  return { outcomes, head, written: head - before }
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

function emptyWal(database: DatabaseSync, file: string): void {
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
function createTidiness(database: DatabaseSync, { file, checkpointBytes }: LogWriterOptions) {
  // At most: a file stays as long as it was when it is begun anew.
  let untidyBytes = bytesOf(`${file}-wal`)
  /** Bytes that the last attempt may have left because of readers. The next attempt waits for another `checkpointBytes`. */
  let leftBytes = 0
  return {
    grown: (bytes: number): void => void (untidyBytes += bytes),
    tidy: (): void => {
      if (untidyBytes - leftBytes < checkpointBytes) return
      leftBytes = untidyBytes
      const mode = untidyBytes < checkpointPatience * checkpointBytes ? 'PASSIVE' : 'RESTART'
      if (checkpoint(database, mode, restartPatienceMs)) untidyBytes = leftBytes = 0
    },
  }
}

/** Which files have the log's names now. An open file can lose its name: writes to it still succeed, and nobody can find them again. */
const filesNamed = (file: string): string => [file, `${file}-wal`].map(inodeOf).join()

/**
 * Moves the WAL into the database while this process still has it open. If only the WAL's name is gone, the next start then finds
 * everything.
 */
function filesRemoved(database: DatabaseSync, file: string): PermanentError {
  const hint = 'its files were removed or replaced while it was open, and what is written to it now would be lost'
  try {
    checkpoint(database, 'RESTART', erasePatienceMs)
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
    failure = toldOf(error, 'write to log', file)
    return stopped()
  }
  /** Our own failures, as of damage that a task meets, come before anything is written: the next task may succeed. */
  const fail = (error: unknown): Error =>
    isOperatingFailure(error) || isHarmless(error) ? toldOf(error, 'append to log', file) : stop(error)

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
export function createLogWriter(options: LogWriterOptions, announce: (head: Position) => void): LogWriter {
  const { file } = options
  const { database } = openForWriting(options, options.busyTimeoutMs)
  const statements = prepare(database, file)
  const { attempt, inTransaction, broken } = createAttempts(statements, database, file)
  const wal = createTidiness(database, options)

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

  return { commit, cut, erase, broken, tidy, close: () => database.close() }
}
