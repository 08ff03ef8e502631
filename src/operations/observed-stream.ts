import type { Counts, NewEvent } from '#src/events/envelope.ts'
import { ConflictError, type Stream } from '#streams/stream.ts'
import type { Metrics } from './metrics.ts'

/** Seconds. An append ends with the disk's own sync, so the first bound is about the quickest of them. */
const secondsBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

const kinds: readonly (readonly [kind: string, of: (counts: Counts) => number])[] = [
  ['span', ({ spans }) => spans],
  ['log', ({ logs }) => logs],
  ['rum_event', ({ rumEvents }) => rumEvents],
]

/** Wraps logs so that metrics tell what is appended: how many records, how long it takes, and how much waits. */
export function createStreamObserver(metrics: Metrics): (stream: Stream) => Stream {
  const accepted = metrics.counter(
    'throughline_records_accepted_total',
    'Records stored, by kind; repeats do not count.',
  )
  const refused = metrics.counter('throughline_records_refused_total', 'Records refused within stored requests.')
  const failed = metrics.counter('throughline_appends_failed_total', 'Appends that the log did not take.')
  failed({}, 0)
  const seconds = metrics.histogram('throughline_append_seconds', 'Time from append to durable.', secondsBounds)
  const waiting = { events: 0, bytes: 0 }
  metrics.gauge('throughline_append_queue_events', 'Events that wait for the log.', () => waiting.events)
  metrics.gauge('throughline_append_queue_bytes', 'Bytes of payload that wait for the log.', () => waiting.bytes)

  const count = ({ counts }: NewEvent): void => {
    for (const [kind, of] of kinds) if (of(counts) > 0) accepted({ kind }, of(counts))
    if (counts.refused > 0) refused({}, counts.refused)
  }

  return (stream) => ({
    ...stream,
    append: async (events, expected) => {
      const begun = performance.now()
      const bytes = events.reduce((sum, { payload }) => sum + payload.length, 0)
      waiting.events += events.length
      waiting.bytes += bytes
      try {
        const appended = await stream.append(events, expected)
        seconds({}, (performance.now() - begun) / 1_000)
        for (const [index, event] of events.entries()) {
          if (appended.events[index]?.repeated === undefined) count(event)
        }
        return appended
      } catch (error) {
        // A conflict is an answer, not a failure: another process has closed the reservation, and the request goes on under a new one.
        if (!(error instanceof ConflictError)) failed({})
        throw error
      } finally {
        waiting.events -= events.length
        waiting.bytes -= bytes
      }
    },
  })
}
