import { parseRfc3339Ns } from '#src/lib/time.ts'
import type { ShownSpan } from './span-tree.ts'

// Which part of a trace's time its page shows: in addresses `zoom=START-END`, in nanoseconds since 1970. Counted from the trace's start it would be
// another time as soon as an earlier span arrives, as the root often is.

export type Range = Readonly<{ startNs: bigint; endNs: bigint }>
/** `shown` is `whole` itself unless less of it is shown. `isRefused`: what the address asks for is no part of the trace. */
export type ShownRange = Readonly<{ whole: Range; shown: Range; isRefused: boolean }>

type Summary = Readonly<{ start: string | null; duration_ns: string | null }>
type Timed = Pick<ShownSpan, 'start' | 'duration_ns'>

/** In a shorter range an axis could not tell times apart. */
const shortestNs = 1_000n
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b)
export const lengthNs = ({ startNs, endNs }: Range): bigint => endNs - startNs
const isSame = (a: Range, b: Range): boolean => a.startNs === b.startNs && a.endNs === b.endNs

/** What ends before it begins, as by a clock that was put back, takes no time. */
export function timesOf({ start, duration_ns: duration }: Summary | Timed): Range {
  const startNs = parseRfc3339Ns(start ?? '') ?? 0n
  return { startNs, endNs: startNs + most(0n, BigInt(duration ?? 0)) }
}

/** A range as far as it lies in the whole, long enough to be looked at; undefined if none of it does. */
function within(whole: Range, { startNs, endNs }: Range): Range | undefined {
  if (startNs > endNs || endNs < whole.startNs || startNs > whole.endNs) return undefined
  const cut = { startNs: most(startNs, whole.startNs), endNs: least(endNs, whole.endNs) }
  if (lengthNs(cut) >= shortestNs) return cut
  const from = most(whole.startNs, least(cut.startNs, whole.endNs - shortestNs))
  return { startNs: from, endNs: least(whole.endNs, from + shortestNs) }
}

/** As addresses have it. */
export const zoomText = ({ startNs, endNs }: Range): string => `${startNs}-${endNs}`

/** What to show of a trace by what its address says: all of it where that says nothing, or no part of the trace. */
export function shownRange(summary: Summary, asked: string): ShownRange {
  const whole = timesOf(summary)
  const [, start, end] = /^(\d{1,20})-(\d{1,20})$/.exec(asked) ?? []
  const isRange = start !== undefined && end !== undefined
  const part = isRange ? within(whole, { startNs: BigInt(start), endNs: BigInt(end) }) : undefined
  const isRefused = asked !== '' && part === undefined
  return { whole, shown: part === undefined || isSame(part, whole) ? whole : part, isRefused }
}

export const isZoomed = ({ whole, shown }: ShownRange): boolean => shown !== whole

/** The range to zoom to for a part of the trace; undefined if it is shown already, or is all of it. */
export function zoomTo({ whole, shown }: ShownRange, part: Range): Range | undefined {
  const range = within(whole, part)
  return range === undefined || isSame(range, shown) || isSame(range, whole) ? undefined : range
}

/** What lies beside what is shown, and a range around it. */
export function rangesBeside(range: ShownRange): Readonly<Record<'earlier' | 'later' | 'around', Range | undefined>> {
  const { whole, shown } = range
  const length = lengthNs(shown)
  const from = (startNs: bigint): Range => ({ startNs, endNs: startNs + length })
  return {
    earlier: zoomTo(range, from(most(whole.startNs, shown.startNs - length / 2n))),
    later: zoomTo(range, from(least(whole.endNs - length, shown.startNs + length / 2n))),
    around: zoomTo(range, { startNs: shown.startNs - length, endNs: shown.endNs + length }),
  }
}

/** On which side of the shown range a span lies; undefined if it is in sight. What only touches the range is not. */
export function sideOf(range: ShownRange, span: Range): 'before' | 'after' | undefined {
  const { startNs, endNs } = range.shown
  // All of a trace is in sight, also what arrived after the trace was summed up.
  if (!isZoomed(range)) return undefined
  if (span.endNs < startNs || (span.endNs === startNs && span.startNs < startNs)) return 'before'
  return span.startNs > endNs || (span.startNs === endNs && span.endNs > endNs) ? 'after' : undefined
}

/** A range that is looked at alone is shorter than this part (1/20) of its trace. */
const denseShare = 20n

/**
 * The shortest range that holds 90 % of these spans, or all but one if they are few, where that is less than a twentieth of the trace: as where a
 * clock is years off. The first of several. Undefined if there is none.
 */
export function denseRange(spans: readonly Range[], whole: Range): Range | undefined {
  const wanted = Math.min(spans.length - 1, Math.ceil(spans.length * 0.9))
  if (wanted < 2) return undefined
  const times = spans.toSorted((a, b) => Number(a.startNs - b.startNs))
  const ends = times.map(({ endNs }) => endNs).toSorted((a, b) => Number(a - b))
  let dense = whole
  // From each start: up to where so many of the spans that begin there or later have ended.
  for (const { startNs, endNs: own } of times.slice(0, spans.length - wanted + 1)) {
    const found = { startNs, endNs: ends[wanted - 1] ?? whole.endNs }
    if (lengthNs(found) < lengthNs(dense)) dense = found
    ends.splice(ends.indexOf(own), 1)
  }
  const range = within(whole, dense)
  return range !== undefined && lengthNs(range) * denseShare < lengthNs(whole) ? range : undefined
}

/** A place on a time line, in thousandths. */
export type Place = Readonly<{ x: number; width: number }>

/** How much of a range is over at a time, in whole thousandths; 0 of one without time. */
export function shareAt(range: Range, ns: bigint): number {
  const whole = lengthNs(range)
  return whole <= 0n ? 0 : Number(((ns - range.startNs) * 1_000n) / whole)
}

/** Where a part of a range is in it; always wide enough to be seen. */
export function placeIn(range: Range, part: Range, widthMin = 2): Place {
  if (lengthNs(range) <= 0n) return { x: 0, width: 1_000 }
  const startNs = most(part.startNs, range.startNs)
  const x = Math.min(1_000 - widthMin, shareAt(range, startNs))
  const width = shareAt(range, range.startNs + least(part.endNs, range.endNs) - startNs)
  return { x, width: Math.min(1_000 - x, Math.max(widthMin, width)) }
}
