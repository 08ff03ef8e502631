import type { Span } from '#src/events/telemetry.ts'

/**
 * A span without a start has that of its end, one without an end ends as it starts, one without both was when it arrived;
 * `cuts` tells. A time is missing when it is 0, as its sender did not set it or it was no number (opentelemetry-proto
 * trace.proto: "this field is semantically required").
 */
function filled(span: Span, arrivedNs: bigint): Span {
  const { startNs, endNs, cuts } = span
  if (startNs === 0n && endNs === 0n) {
    return { ...span, startNs: arrivedNs, endNs: arrivedNs, cuts: [...cuts, 'no times: that of its arrival'] }
  }
  if (startNs === 0n) return { ...span, startNs: endNs, cuts: [...cuts, 'no start time: that of its end'] }
  return { ...span, endNs: startNs, cuts: [...cuts, 'no end time: that of its start'] }
}

const isTimed = ({ startNs, endNs }: Span): boolean => startNs !== 0n && endNs !== 0n

/** Spans with a start and an end each. `receivedAt`: when they arrived, milliseconds since the Unix epoch. */
export function fillTimes(spans: readonly Span[], receivedAt: number): readonly Span[] {
  if (spans.every(isTimed)) return spans
  const arrivedNs = BigInt(receivedAt) * 1_000_000n
  return spans.map((span) => (isTimed(span) ? span : filled(span, arrivedNs)))
}
