import type { Clock } from '#src/lib/clock.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Timers } from '#src/lib/timers.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { follow } from '#streams/follow.ts'
import type { Stream } from '#streams/stream.ts'
import type { CacheLimits } from './documents.ts'
import type { IndexWriter } from './index-store.ts'
import { openLane, type Lane } from './lane.ts'
import type { DecodedEvent, Projection } from './projection.ts'

/** A projection that could not go on: `retried` when it is tried again by itself, else it stands until the process does. */
export type ProjectionFailure = Readonly<{ projection: string; error: unknown; retried: boolean }>

export type ProjectorLimits = CacheLimits &
  Readonly<{ projectorBatchEventsMax: number; projectorBatchRecordsMax: number }>

export type ProjectorOptions = Readonly<{
  stream: Stream
  writer: IndexWriter
  projections: readonly Projection[]
  decode: (event: RecordedEvent) => DecodedEvent
  clock: Clock
  timers: Timers
  limits: ProjectorLimits
  /** Hears of every failure, at once. */
  onFailure?: (failure: ProjectionFailure) => void
}>

export type Projector = Readonly<{
  /**
   * Follows the log until the signal aborts. A projection that fails on an event stops alone, reported and visible to readers
   * as lag: nothing is skipped. Rejects when the log cannot be read, or when no projection is left, with its failure.
   */
  run(signal: AbortSignal): Promise<void>
}>

const heartbeatMs = 1_000
const retryPauseMs = 1_000

/** Runs tasks one after the other: heartbeats and batches of one writer do not overlap. */
function createTurns(): (task: () => Promise<void>) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const turn = last.then(task)
    last = turn.catch(() => {})
    return turn
  }
}

type Running = { lanes: Lane[]; failure: unknown }

function createRun(
  { stream, clock, timers, decode, onFailure = () => {}, ...options }: ProjectorOptions,
  running: Running,
) {
  const { writer, limits } = options
  const stop = (projection: string, error: unknown): void => {
    running.lanes = running.lanes.filter((lane) => lane.projection !== projection)
    running.failure = error
    onFailure({ projection, error, retried: false })
  }
  /** Does it for the lane; what passes by itself is tried again, anything else stops the lane. */
  const attempt = async (projection: string, task: () => Promise<void>, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        return await task()
      } catch (error) {
        if (!(error instanceof TransientError)) return stop(projection, error)
        onFailure({ projection, error, retried: true })
        await timers.pause(retryPauseMs, signal)
      }
    }
  }
  return {
    async openAll(signal: AbortSignal): Promise<void> {
      for (const projection of options.projections) {
        const open = async (): Promise<void> => {
          running.lanes.push(await openLane(projection, { writer, epoch: stream.epoch, clock, limits }))
        }
        await attempt(projection.name, open, signal)
      }
    },
    async foldAll(events: readonly RecordedEvent[], signal: AbortSignal): Promise<void> {
      const decoded = events.map(decode)
      const last = events.at(-1)?.position ?? 0
      for (const lane of running.lanes) await attempt(lane.projection, () => lane.fold(decoded, last), signal)
    },
    async heartbeatAll(signal: AbortSignal): Promise<void> {
      const head = await stream.head()
      for (const lane of running.lanes) await attempt(lane.projection, () => lane.heartbeat(head), signal)
    },
    async caughtUpAll(signal: AbortSignal): Promise<void> {
      for (const lane of running.lanes) await attempt(lane.projection, () => lane.caughtUp(), signal)
    },
  }
}

/**
 * Cuts what was read where it holds more records than one batch should: a batch is one transaction, found by readers when all
 * of it is written, and held in memory until then. An event is never cut.
 */
function* inBatches(events: readonly RecordedEvent[], recordsMax: number): Generator<readonly RecordedEvent[]> {
  let batch: RecordedEvent[] = []
  let records = 0
  for (const event of events) {
    const { spans, logs, rumEvents } = event.counts
    records += spans + logs + rumEvents
    if (records > recordsMax && batch.length > 0) {
      yield batch
      batch = []
      records = spans + logs + rumEvents
    }
    batch.push(event)
  }
  if (batch.length > 0) yield batch
}

/**
 * Folds one partition's log into the indexes of all projections. Each event is decoded once for all of them; the log is read
 * from where the projection that is furthest behind stands.
 */
export function createProjector(options: ProjectorOptions): Projector {
  const { stream, timers, limits } = options
  return {
    async run(signal) {
      const running: Running = { lanes: [], failure: undefined }
      const work = createRun(options, running)
      const inTurn = createTurns()
      const stopped = new AbortController()
      const until = AbortSignal.any([signal, stopped.signal])
      const end = (error: unknown): void => {
        running.failure = error
        stopped.abort()
      }
      await work.openAll(signal)
      const beat = (): Promise<void> => inTurn(() => work.heartbeatAll(until))
      // While one waits for its turn, the next need not.
      let isWaiting = false
      const beatOnce = async (): Promise<void> => {
        if (isWaiting) return
        isWaiting = true
        await inTurn(() => {
          isWaiting = false
          return work.heartbeatAll(until)
        }).catch(end)
      }
      const stopBeating = timers.every(heartbeatMs, () => void beatOnce())
      try {
        const lowest = Math.min(...running.lanes.map((lane) => lane.position()))
        if (running.lanes.length === 0) throw running.failure
        let idle = true
        for await (const events of follow(stream, lowest, limits.projectorBatchEventsMax, until)) {
          // Readers were told that nothing is missing: that ends before the fold, not after it.
          if (idle && events.length > 0) await beat()
          idle = events.length === 0
          if (idle) await inTurn(() => work.caughtUpAll(until))
          for (const batch of inBatches(events, limits.projectorBatchRecordsMax)) {
            await inTurn(() => work.foldAll(batch, until))
            await beat()
          }
          if (idle) await beat()
          if (running.lanes.length === 0) throw running.failure
        }
        if (stopped.signal.aborted) throw running.failure
      } finally {
        stopBeating()
        await inTurn(async () => {})
      }
    },
  }
}
