import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Stream } from './stream.ts'

/** A log as it is filled with copies of another log's events, in their order. */
export type CopyTarget = Readonly<{
  /**
   * Position, in the log that is copied, of the newest event that is here; `beforeAll` when nothing is. Rejects with
   * PermanentError when anything else is here.
   */
  copied(): Promise<Position>
  /**
   * Appends copies of the events that are not here yet, exactly as recorded, repeated ids included. Expects all events of the log, in order.
   * If it rejects with TransientError, some of the first ones may have been written: call it again. Resolves when all are durable.
   */
  append(events: readonly RecordedEvent[]): Promise<void>
}>

/** A log, the logs that it is copied to, and the ones that each event goes to (usually one). */
export type CopiedLog = Readonly<{
  source: Pick<Stream, 'epoch' | 'read' | 'head'>
  targets: readonly (CopyTarget & Readonly<{ partition: string; log: Pick<Stream, 'read'> }>)[]
  targetsOf(event: RecordedEvent): readonly number[]
  /** Each event has the same position in the copy, because other events name it. */
  keepsPositions: boolean
}>

export const eventsPerReadMax = 1_024
const pauseFirstMs = 100
const pauseMaxMs = 2_000
const patienceMsDefault = 60_000

/** Retries until all events are appended or the time is up. */
async function insist(target: CopyTarget, events: readonly RecordedEvent[], patienceMs: number): Promise<void> {
  const started = performance.now()
  for (let pauseMs = pauseFirstMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
    try {
      return await target.append(events)
    } catch (error) {
      if (!(error instanceof TransientError) || performance.now() - started > patienceMs) throw error
    }
    await sleep(pauseMs)
  }
}

type CopyOptions = Readonly<{
  /** Told up to which position of the source all targets are complete. */
  onProgress: (position: Position, until: Position) => void
  /** How long a target may fail on the same events. */
  patienceMs?: number
}>

/**
 * Copies what the targets lack, up to the current head, and resolves with the number of events copied. It may be killed at any moment and
 * called again: the targets know how far they are.
 */
export async function copyLog(
  { source, targets, targetsOf }: CopiedLog,
  { onProgress, patienceMs = patienceMsDefault }: CopyOptions,
): Promise<number> {
  const until = await source.head()
  const copied = await Promise.all(targets.map((target) => target.copied()))
  let count = 0
  let position = Math.min(...copied)
  onProgress(position, until)
  while (position < until) {
    const events = await source.read(position, eventsPerReadMax)
    const last = events.at(-1)
    if (last === undefined) break
    const ofTarget = targets.map((): RecordedEvent[] => [])
    for (const event of events) {
      for (const target of targetsOf(event)) {
        if (event.position > (copied[target] ?? beforeAll)) ofTarget[target]?.push(event)
      }
    }
    await Promise.all(targets.map((target, index) => insist(target, ofTarget[index] ?? [], patienceMs)))
    count += ofTarget.reduce((sum, { length }) => sum + length, 0)
    position = last.position
    onProgress(position, until)
  }
  return count
}
