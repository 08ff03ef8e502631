import type { Span } from '#src/events/telemetry.ts'

const hasTimes = ({ startNs, endNs }: Span): boolean => startNs !== 0n && endNs !== 0n
const hasEventTimes = ({ spanEvents }: Span): boolean => spanEvents.every(({ timeNs }) => timeNs !== 0n)

/**
 * A span without a start gets its end as start, one without an end gets its start as end, and one without both gets the time of arrival; `cuts` says
 * so. A time of 0 is missing: the sender did not set it, or it was no number (opentelemetry-proto trace.proto: "this field is semantically
 * required").
 */
function filled(span: Span, arrivedNs: bigint): Span {
  const { startNs, endNs, cuts } = span
  if (hasTimes(span)) return span
  if (startNs === 0n && endNs === 0n) {
    return { ...span, startNs: arrivedNs, endNs: arrivedNs, cuts: [...cuts, 'no times: that of its arrival'] }
  }
  if (startNs === 0n) return { ...span, startNs: endNs, cuts: [...cuts, 'no start time: that of its end'] }
  return { ...span, endNs: startNs, cuts: [...cuts, 'no end time: that of its start'] }
}

/** Gives each event of a span a time: one without gets the start of the span. */
function withEventTimes(span: Span): Span {
  const { startNs, spanEvents, cuts } = span
  if (hasEventTimes(span)) return span
  const timed = spanEvents.map((event) => (event.timeNs === 0n ? { ...event, timeNs: startNs } : event))
  return { ...span, spanEvents: timed, cuts: [...cuts, "no time of an event: that of its span's start"] }
}

/** Gives every span a start and an end, and every event a time. `receivedAt`: time of arrival, milliseconds since the Unix epoch. */
export function fillTimes(spans: readonly Span[], receivedAt: number): readonly Span[] {
  if (spans.every((span) => hasTimes(span) && hasEventTimes(span))) return spans
  const arrivedNs = BigInt(receivedAt) * 1_000_000n
  return spans.map((span) => withEventTimes(filled(span, arrivedNs)))
}
