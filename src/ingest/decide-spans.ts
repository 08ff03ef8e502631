import type { Limits } from '#src/config.ts'

/** The state of a month's allowance, and the requests for spans in order, all by one limit. */
type Standing = Readonly<{
  limit: number | null
  /** Spans used by reservations that have ended. */
  spent: number
  /** Spans held by open reservations. */
  held: number
  asked: readonly number[]
}>

export type SpanDecision =
  /** Reserve enough for the first requests, at least one. `isNear`: near the limit, so that unused spans are returned at once. */
  | Readonly<{ kind: 'reserve'; spans: number; isNear: boolean }>
  /** Grant the first request less than it asks for: there is certainly no more. */
  | Readonly<{ kind: 'rest'; spans: number }>
  /** Wait: spans held by others may be returned. */
  | Readonly<{ kind: 'wait' }>

export type ChunkLimits = Pick<Limits, 'reservedSpansMax' | 'reservedSpansMin' | 'reservedShare'>

/**
 * How much to reserve. Far from the limit, more than is asked for, so that one ledger event serves many requests. The amount shrinks with
 * what is left, down to exactly what is asked for.
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
  if (whole === asked.length && !isNear) return { kind: 'reserve', spans: Math.max(chunk, wanted), isNear }
  if (whole > 0) return { kind: 'reserve', spans: wanted, isNear: true }
  const isFinal = held === 0 || spent >= (limit ?? Infinity)
  return isFinal ? { kind: 'rest', spans: left } : { kind: 'wait' }
}
