import type { Limits } from '#src/config.ts'

/** How a month stands, and what is asked for, in order; all by one limit. */
type Standing = Readonly<{
  limit: number | null
  /** By reservations that have ended. */
  spent: number
  /** By reservations that are open. */
  held: number
  asked: readonly number[]
}>

export type SpanDecision =
  /** Enough for the first `whole` requests. `isNear`: near the limit, so that what is left over goes back at once. */
  | Readonly<{ kind: 'reserve'; spans: number; whole: number; isNear: boolean }>
  /** That is all there is for the first request, for certain. */
  | Readonly<{ kind: 'rest'; spans: number }>
  /** What others hold may come free again. */
  | Readonly<{ kind: 'wait' }>

export type ChunkLimits = Pick<Limits, 'reservedSpansMax' | 'reservedSpansMin' | 'reservedShare'>

/**
 * How much to reserve. Far from the limit more than is asked for, so that one event of the ledger serves many requests; the part
 * shrinks with what is left, down to exactly what is asked for.
 */
export function decideSpans({ limit, spent, held, asked }: Standing, limits: ChunkLimits): SpanDecision {
  const left = limit === null ? Infinity : Math.max(0, limit - spent - held)
  const chunk = Math.min(limits.reservedSpansMax, Math.floor(left / limits.reservedShare))
  const isNear = chunk < limits.reservedSpansMin
  let [whole, wanted] = [0, 0]
  for (const spans of asked) {
    if (wanted + spans > left) break
    wanted += spans
    whole++
  }
  if (whole === asked.length && !isNear) return { kind: 'reserve', spans: Math.max(chunk, wanted), whole, isNear }
  if (whole > 0) return { kind: 'reserve', spans: wanted, whole, isNear: true }
  const isFinal = held === 0 || spent >= (limit ?? Infinity)
  return isFinal ? { kind: 'rest', spans: left } : { kind: 'wait' }
}
