import { dayMs } from '#src/lib/day.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { compareText } from '#src/lib/compare-text.ts'
import { floorTo } from '#src/lib/int64.ts'
import type { Bucket, IndexReader, Scope, Selection } from '../index-store.ts'

const bucketsMax = 100
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const stepsMs = [
  1,
  10,
  100,
  1_000,
  5_000,
  10_000,
  30_000,
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hourMs),
  ...[1, 2, 7, 14, 28, 91, 364, 3_640, 36_400].map((days) => days * dayMs),
]

/** The smallest step that cuts the range into at most 100 buckets. */
export function histogramStepMs(fromNs: bigint, toNs: bigint): number {
  const rangeMs = Number((toNs - fromNs) / 1_000_000n)
  return stepsMs.find((step) => rangeMs / step <= bucketsMax) ?? stepsMs.at(-1) ?? dayMs
}

const stepNsOf = (stepMs: number): bigint => BigInt(stepMs) * 1_000_000n

/** The time of the first or last record; undefined when there is none. */
async function edgeNs(
  reader: IndexReader,
  scope: Scope,
  selection: Selection,
  direction: 'asc' | 'desc',
): Promise<bigint | undefined> {
  const [hit] = await reader.search(scope, { ...selection, orderBy: 'timeNs', direction, limit: 1 })
  return hit?.timeNs
}

/** A bucket as answers show it. `and_later`: it has no end. Only the last one may. */
type ShownBucket = Readonly<{ time: string; total: number; by: Bucket['by']; and_later?: true }>

/** Counts over record time. Buckets without a record are left out. */
type CountsOverTime = Readonly<{ stepMs: number; buckets: readonly ShownBucket[] }>

const shown = ({ startNs, total, by }: Bucket): ShownBucket => ({ time: formatTimeNs(startNs), total, by })

/**
 * What is to be counted. `farNs`: if the selection has no end, records dated from then on do not determine the width of buckets, unless there are
 * no others; undefined: all records do.
 */
export type Counted = Readonly<{ scope: Scope; selection: Selection; farNs: bigint | undefined }>
type CountedOverTime = Counted & Readonly<{ by: string }>

type Span = Readonly<{ fromNs: bigint; toNs: bigint }>

/** An open bound of the request is where the matching records begin or end. */
async function spanOf(reader: IndexReader, scope: Scope, selection: Selection): Promise<Span> {
  const [fromNs = 0n, toNs = 0n] = await Promise.all([
    selection.fromNs ?? edgeNs(reader, scope, selection, 'asc'),
    selection.toNs ?? edgeNs(reader, scope, selection, 'desc'),
  ])
  return { fromNs, toNs }
}

/** The last record before `farNs`, if there are later ones too. */
async function nearEndNs(
  reader: IndexReader,
  { scope, selection, farNs }: Counted,
  { fromNs, toNs }: Span,
): Promise<bigint | undefined> {
  if (farNs === undefined || selection.toNs !== undefined || toNs < farNs || fromNs >= farNs) return undefined
  return edgeNs(reader, scope, { ...selection, toNs: farNs }, 'desc')
}

/** One bucket without an end, from the step of its first record on. `lastNs`: the time of its last record. */
async function countLater(
  reader: IndexReader,
  { scope, selection, by }: CountedOverTime,
  { stepMs, lastNs }: Readonly<{ stepMs: number; lastNs: bigint }>,
): Promise<ShownBucket | undefined> {
  const firstNs = await edgeNs(reader, scope, selection, 'asc')
  if (firstNs === undefined) return undefined
  const parts = await reader.histogram(scope, selection, stepNsOf(histogramStepMs(firstNs, lastNs)), by)
  const values = new Map<string, number>()
  for (const [value, count] of parts.flatMap((part) => Object.entries(part.by))) {
    values.set(value, (values.get(value) ?? 0) + count)
  }
  const startNs = floorTo(firstNs, stepNsOf(stepMs))
  const total = parts.reduce((sum, part) => sum + part.total, 0)
  const counts = Object.fromEntries([...values].sort(([a], [b]) => compareText(a, b)))
  return { ...shown({ startNs, total, by: counts }), and_later: true }
}

/** The width of buckets, the time of the last record, and where the regular buckets end if one without an end follows. */
export type Steps = Readonly<{ stepMs: number; lastNs: bigint; endNs: bigint | undefined }>

/**
 * Steps that suit the range of a selection. One record of a clock that is wrong by years would make them so wide that all others fall into one
 * bucket, so records that are far ahead get a bucket of their own.
 */
export async function stepsOf(reader: IndexReader, counted: Counted): Promise<Steps> {
  const span = await spanOf(reader, counted.scope, counted.selection)
  const nearNs = await nearEndNs(reader, counted, span)
  const stepMs = histogramStepMs(span.fromNs, nearNs ?? span.toNs)
  const stepNs = stepNsOf(stepMs)
  return { stepMs, lastNs: span.toNs, endNs: nearNs === undefined ? undefined : floorTo(nearNs, stepNs) + stepNs }
}

/** Counts of the selection over time, in all and by a keyword. */
export async function countOverTime(
  reader: IndexReader,
  counted: CountedOverTime,
  { stepMs, lastNs, endNs }: Steps,
): Promise<CountsOverTime> {
  const { scope, selection, by } = counted
  const stepNs = stepNsOf(stepMs)
  const range = endNs === undefined ? selection : { ...selection, toNs: endNs }
  const buckets = (await reader.histogram(scope, range, stepNs, by)).map(shown)
  if (endNs === undefined) return { stepMs, buckets }
  const beyond = { ...counted, selection: { ...selection, fromNs: endNs } }
  const later = await countLater(reader, beyond, { stepMs, lastNs })
  return { stepMs, buckets: later === undefined ? buckets : [...buckets, later] }
}
