import { parseTimeNs } from '#src/events/point-in-time.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { ok, type Result } from '#src/lib/result.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { invalidParameter } from './parameters.ts'

const msNs = 1_000_000n
const dayNs = 86_400_000n * msNs

/** From inclusive, to exclusive; a missing end is open. */
export type Range = Readonly<{ fromNs?: bigint; toNs?: bigint }>

type Bounds = Readonly<{ from?: string | undefined; to?: string | undefined }>

const notTime =
  'not a time of the years 1 to 9999: give RFC 3339, Unix s, ms, µs or ns, or relative like 15m, -1h, now-2d, now+1h'

function readTime(path: string, text: string | undefined, nowMs: number): Result<bigint | undefined, Refusal> {
  if (text === undefined) return ok(undefined)
  const ns = parseTimeNs(text, nowMs)
  return ns === undefined ? invalidParameter(path, notTime) : ok(ns)
}

/** Resolves `from` and `to`. Without `from` it is the last 24 hours, or all time if an id is searched for. */
export function resolveRange(given: Bounds, byId: boolean, nowMs: number): Result<Range, Refusal> {
  const from = readTime('from', given.from, nowMs)
  if (!from.ok) return from
  const to = readTime('to', given.to, nowMs)
  if (!to.ok) return to
  const toNs = to.value
  const dayBefore = byId ? undefined : (toNs ?? BigInt(Math.trunc(nowMs)) * msNs) - dayNs
  const fromNs = from.value ?? dayBefore
  if (fromNs !== undefined && toNs !== undefined && fromNs > toNs) return invalidParameter('from', 'is after to')
  return ok({ ...(fromNs === undefined ? {} : { fromNs }), ...(toNs === undefined ? {} : { toNs }) })
}

/** If `to` is open, times from here on are far in the future: neither a fast clock nor a wrong time zone explains them. */
export const farFutureNs = (nowMs: number): bigint => BigInt(Math.trunc(nowMs)) * msNs + dayNs

/** The range in answers; null for an open end. */
export const rangeAnswer = ({ fromNs, toNs }: Range): Readonly<{ from: string | null; to: string | null }> => ({
  from: fromNs === undefined ? null : formatTimeNs(fromNs),
  to: toNs === undefined ? null : formatTimeNs(toNs),
})
