import { beforeAll, positionStep, telemetryEventTypes, type RecordedEvent } from '#src/events/envelope.ts'
import { dayMs } from '#src/lib/day.ts'
import { applyRetention, type Retained, type RetentionOptions } from './retention.ts'

/** Events that senders cause. Events that this program appends by itself, as at its start, prove nothing about its clock. */
const sentTypes: ReadonlySet<string> = new Set(telemetryEventTypes)
const isSent = ({ type }: RecordedEvent): boolean => sentTypes.has(type)
const tailMin = 64 * positionStep

/** When the last event from a sender was received, ms; undefined: there is none. */
async function lastReceivedAt({ stream, limits }: RetentionOptions): Promise<number | undefined> {
  const [head, first] = [await stream.head(), await stream.first()]
  for (let back = tailMin; ; back *= 8) {
    // What was cut off cannot be read.
    const after = head - back > (first?.position ?? head) ? head - back : beforeAll
    let last: number | undefined
    for (let position = after; position < head;) {
      const events = await stream.read(position, limits.projectorBatchEventsMax)
      last = events.findLast(isSent)?.receivedAt ?? last
      position = events.at(-1)?.position ?? head
    }
    if (last !== undefined || after === beforeAll) return last
  }
}

/**
 * If the clock is further ahead than this of the last event received, it may be wrong, and what is cut because of it never comes back. So
 * there must be time to notice, and to stop the server.
 */
const silenceMaxMs = 7 * dayMs

/**
 * A run cuts what was received on one day. If more than that has expired, only one run out of so many cuts, and not the first ones: a log
 * that was left alone for weeks is done in some days, and one whose clock was set wrong is not gone by the next morning. Of what expired so
 * many days of receipt ago that it would be gone by now, every run cuts a day, since a process may never live for that many runs.
 */
const catchUpTurns = 4

export type RetentionEvents = Readonly<{
  onRetained(retained: Retained): void
  onFailure(error: unknown): void
  /** The first run waits until `until`, because the last event was received so long ago. */
  onWaiting(lastReceivedAt: number, until: number): void
}>

/**
 * Runs retention now and then each hour, until the returned function is called, beside the projector that owns the partition and through
 * the same writer. A failed run is reported, and repeated at its next time; one that is under way at the end stops at its next step. If
 * nothing was received for long, the first run is an hour later. However far the clock is ahead, the log is cut day by day, at a pace
 * counted in runs of running time; indexes drop days only as far as the log was cut.
 */
export function startRetention(options: RetentionOptions, events: RetentionEvents): () => void {
  const { onRetained, onFailure, onWaiting } = events
  const { clock, timers, limits } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const waitIfSilent = async (): Promise<void> => {
    const last = await lastReceivedAt(options)
    if (last === undefined || clock() - last <= silenceMaxMs) return
    onWaiting(last, clock() + limits.retentionEveryMs)
    await timers.pause(limits.retentionEveryMs, signal)
  }
  const run = async (): Promise<void> => {
    // A read error will fail the run too, and is reported then.
    await waitIfSilent().catch(() => undefined)
    for (let turn = 1; !signal.aborted; turn++) {
      try {
        onRetained(await applyRetention(options, signal, { daysMax: 1, mayCatchUp: turn % catchUpTurns === 0 }))
      } catch (error) {
        if (!signal.aborted) onFailure(error)
      }
      await timers.pause(limits.retentionEveryMs, signal)
    }
  }
  void run()
  return () => stopped.abort()
}
