import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Position } from '#src/events/envelope.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { createRemote } from '#src/lib/remote.ts'
import type { Stream } from '../stream.ts'
import { createAppendQueue, type AppendLimits } from './append-queue.ts'
import type { LogFile } from './log-file.ts'
import { createLocalWriter, type RemoteWriter } from './local-writer.ts'
import { createLogReader, type LogReader } from './reader.ts'
import { createWaker } from './waker.ts'
import type { Group } from './write-group.ts'
import type { LogWriterOptions } from './writer.ts'

type SqliteStreamReaderOptions = LogFile &
  Readonly<{
    /** How often `changed` checks for events of other processes. Events of this process wake it at once. */
    pollMs?: number
    /** How long to wait for another process's transaction. */
    busyTimeoutMs?: number
  }>
export type SqliteStreamOptions = SqliteStreamReaderOptions &
  Readonly<{
    /** Write in a separate thread, so that an fsync never blocks the caller's event loop. */
    thread: boolean
    limits: AppendLimits
    /** How many bytes are written before the WAL is moved into the database. */
    checkpointBytes?: number
    /** Called once, after an I/O error. From then on every append is refused until the log is opened again. */
    onBroken?: (error: Error) => void
  }>

const pollMsDefault = 150
const busyTimeoutMsDefault = 2_000
const checkpointBytesDefault = 8 * 1024 * 1024
/** How long cutting pauses after each step, given how long the step took. */
const pausePerStep = 4

function startThread(options: LogWriterOptions): RemoteWriter {
  const worker = new Worker(new URL('thread.ts', import.meta.url), { workerData: options, name: 'log-writer' })
  const remote = createRemote<RemoteWriter>(worker, `the writer of ${options.file}`, (method, [group]) =>
    method === 'commit' ? [(group as Group).payloads.buffer as ArrayBuffer] : [],
  )
  const stop = async (): Promise<void> => void (await worker.terminate())
  return {
    open: async () => {
      try {
        await remote.open()
      } catch (error) {
        await stop()
        throw error
      }
    },
    commit: (group) => remote.commit(group),
    broken: () => remote.broken(),
    cut: (upTo) => remote.cut(upTo),
    erase: (step) => remote.erase(step),
    close: async () => {
      try {
        await remote.close()
      } finally {
        await stop()
      }
    },
  }
}

type Reads = Pick<Stream, 'partition' | 'epoch' | 'find' | 'last' | 'read' | 'changed' | 'head' | 'first' | 'isLeft'> &
  Readonly<{ close(): void }>

/** The reading half, over a connection in the calling thread. */
function createReads({ file, partition, ...options }: SqliteStreamReaderOptions): Reads {
  const reader: LogReader = createLogReader({ file, partition }, options.busyTimeoutMs ?? busyTimeoutMsDefault)
  let closed = false
  const open = (operation: string): LogReader => {
    if (closed) throw new TransientError({ operation, subject: `stream ${partition}`, hint: 'it is closed' })
    return reader
  }
  const waker = createWaker(file, () => open('ask the head of').head(), options.pollMs ?? pollMsDefault)
  return {
    partition,
    epoch: reader.epoch,
    find: async (ids, now) => open('search').find(ids, now),
    last: async (subject) => open('search').last(subject),
    read: async (after, max) => open('read').read(after, max),
    changed: waker.wait,
    head: async (): Promise<Position> => open('ask the head of').head(),
    first: async () => open('ask the first event of').first(),
    isLeft: async (workspaceId) => open('search').isLeft(workspaceId),
    close: () => {
      if (closed) return
      closed = true
      waker.close()
      reader.close()
    },
  }
}

/** Reads a log that this or another thread or process writes. Its `append`, `cut` and `erase` reject with PermanentError. */
export async function openSqliteStreamReader(options: SqliteStreamReaderOptions): Promise<Stream> {
  const reads = createReads(options)
  const refuse = (operation: string): PermanentError =>
    new PermanentError({ operation, subject: options.file, hint: 'it was opened for reading only' })
  return {
    ...reads,
    append: async () => {
      throw refuse('append to')
    },
    cut: async () => {
      throw refuse('cut')
    },
    erase: async () => {
      throw refuse('erase from')
    },
    close: async () => reads.close(),
  }
}

/** Runs one step after another while there are more. */
async function stepByStep(step: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const begun = performance.now()
    if (!(await step())) return
    // Appends of all processes get their turn in between.
    await pause(pausePerStep * (performance.now() - begun))
  }
}

/** Opens the writer first, because it creates the file. Leaves no thread behind if opening the reader fails. */
async function openBoth(writer: RemoteWriter, openReads: () => Reads): Promise<Reads> {
  await writer.open()
  try {
    return openReads()
  } catch (error) {
    await writer.close()
    throw error
  }
}

/**
 * The log of one partition in one SQLite file, created if there is none. One writer thread serves the process. Other processes may write to
 * the same file, transaction by transaction.
 */
export async function createSqliteStream(options: SqliteStreamOptions): Promise<Stream> {
  const { file, partition, thread, limits, onBroken } = options
  const writerOptions: LogWriterOptions = {
    file,
    partition,
    busyTimeoutMs: options.busyTimeoutMs ?? busyTimeoutMsDefault,
    checkpointBytes: options.checkpointBytes ?? checkpointBytesDefault,
  }
  const writer = thread ? startThread(writerOptions) : createLocalWriter(writerOptions)
  const reads = await openBoth(writer, () => createReads(options))
  let told = false

  /** Runs a call of the writer, and reports it when the writer can write no more. */
  const watched = async <T>(done: Promise<T>): Promise<T> => {
    try {
      return await done
    } catch (error) {
      // A thread that has ended cannot report this itself.
      const broken = await writer.broken().catch(() => true)
      if (broken && !told) {
        told = true
        onBroken?.(error instanceof Error ? error : new Error(String(error)))
      }
      throw error
    }
  }
  const queue = createAppendQueue(`stream ${partition}`, limits, (group) => watched(writer.commit(group)))

  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await queue.close()
    // The writer closes last: SQLite empties the WAL only when the last connection closes and may write.
    reads.close()
    await writer.close()
  }
  /** One of many steps. A writer that was closed between two of them is not broken. */
  const step = async <T>(operation: string, task: () => Promise<T>): Promise<T> => {
    if (closing === undefined) return watched(task())
    throw new TransientError({ operation, subject: `stream ${partition}`, hint: 'it is closed' })
  }
  return {
    ...reads,
    append: queue.append,
    cut: (upTo) => stepByStep(() => step('cut', () => writer.cut(upTo))),
    erase: async (workspaceId, upTo) => {
      let after: number | undefined = 0
      await stepByStep(async () => {
        after = await step('erase from', () => writer.erase({ workspaceId, upTo, after: after ?? 0 }))
        return after !== undefined
      })
    },
    close: () => (closing ??= close()),
  }
}
