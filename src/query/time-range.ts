import { parseTimeNs } from '#src/events/point-in-time.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { ok, type Result } from '#src/lib/result.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { invalidParameter } from './parameters.ts'

const msNs = 1_000_000n
const dayNs = 86_400_000n * msNs

/** From inclusive, to exclusive; without one of them that side is open. */
export type Range = Readonly<{ fromNs?: bigint; toNs?: bigint }>

type Bounds = Readonly<{ from?: string | undefined; to?: string | undefined }>

const notTime =
  'not a time of the years 1 to 9999: give RFC 3339, Unix s, ms, µs or ns, or relative like 15m, -1h, now-2d, now+1h'

function readTime(path: string, text: string | undefined, nowMs: number): Result<bigint | undefined, Refusal> {
  if (text === undefined) return ok(undefined)
  const ns = parseTimeNs(text, nowMs)
  return ns === undefined ? invalidParameter(path, notTime) : ok(ns)
}

/** Resolves `from` and `to`; without `from` the last 24 hours, unless an id is looked for, which covers all time. */
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

/** Where `to` is open, dates from this time on are far in the future: no clock that is merely ahead, and no mistaken time zone, gives them. */
export const farFutureNs = (nowMs: number): bigint => BigInt(Math.trunc(nowMs)) * msNs + dayNs

/** The range as answers show it; null where it is open. */
export const rangeAnswer = ({ fromNs, toNs }: Range): Readonly<{ from: string | null; to: string | null }> => ({
  from: fromNs === undefined ? null : formatTimeNs(fromNs),
  to: toNs === undefined ? null : formatTimeNs(toNs),
})
