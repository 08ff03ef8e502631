import type { Bucket, IndexReader, Scope, Selection } from './index-store.ts'

const bucketsMax = 100
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
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

/** A bound that the request leaves open is where the records that match begin or end. */
async function edgeNs(
  reader: IndexReader,
  scope: Scope,
  selection: Selection,
  direction: 'asc' | 'desc',
): Promise<bigint> {
  const [hit] = await reader.search(scope, { ...selection, orderBy: 'timeNs', direction, limit: 1 })
  return hit?.timeNs ?? 0n
}

/** Counts over record time. Buckets without a record are left out. */
export type CountsOverTime = Readonly<{ stepMs: number; buckets: readonly Bucket[] }>

/** Counts of the selection over time, in all and by a keyword, in steps that suit its range. */
export async function countOverTime(
  reader: IndexReader,
  scope: Scope,
  selection: Selection,
  by: string,
): Promise<CountsOverTime> {
  const fromNs = selection.fromNs ?? (await edgeNs(reader, scope, selection, 'asc'))
  const toNs = selection.toNs ?? (await edgeNs(reader, scope, selection, 'desc'))
  const stepMs = histogramStepMs(fromNs, toNs > fromNs ? toNs : fromNs)
  return { stepMs, buckets: await reader.histogram(scope, selection, BigInt(stepMs) * 1_000_000n, by) }
}
