import { floorTo, int64Min } from '#src/lib/int64.ts'
import type { Json, JsonObject } from '#src/lib/json.ts'
import { compareText } from '#src/lib/compare-text.ts'
import type { Bucket, Facet, Selection } from '../../index-store.ts'
import { bigintIn, numberIn, objectIn, objectsIn, textIn } from './answer-parts.ts'
import type { Query } from './filter.ts'
import { countedField, timeField } from './mapping.ts'

export const countingBody = (query: Query): object => ({ size: 0, track_total_hits: true, query })

export const countIn = (answer: JsonObject): number => numberIn(objectIn(objectIn(answer['hits'])['total'])['value'])

/** The most values of a bucket. Histograms are by keywords with few values. */
const valuesPerBucketMax = 10_000

/** The start of the lowest bucket that begins within 64 bits. */
const firstStart = (stepNs: bigint): bigint => floorTo(int64Min, stepNs) + stepNs

/**
 * Buckets of nanoseconds. `date_histogram` computes in 64-bit integers and takes a `long` field as it is; `histogram` would use doubles, which cannot
 * hold nanoseconds of this century. The lowest bucket would begin below 64 bits, so it is counted separately.
 */
export function histogramBody(query: Query, { fromNs }: Selection, stepNs: bigint, by: string): object {
  const aggs = { by: { terms: { field: countedField(by), size: valuesPerBucketMax } } }
  const steps = { field: timeField, fixed_interval: `${stepNs}ms`, min_doc_count: 1 }
  const times = { date_histogram: steps, aggs }
  const first = firstStart(stepNs)
  const body = { size: 0, track_total_hits: false, query }
  if (fromNs !== undefined && fromNs >= first) return { ...body, aggs: { times } }
  const above = { filter: { range: { [timeField]: { gte: first } } }, aggs: { times } }
  const below = { filter: { range: { [timeField]: { lt: first } } }, aggs }
  return { ...body, aggs: { above, below } }
}

const bucketsIn = (part: Json | undefined): readonly JsonObject[] => objectsIn(objectIn(part)['buckets'])

export function bucketsOf(answer: JsonObject, stepNs: bigint): readonly Bucket[] {
  const aggregations = objectIn(answer['aggregations'])
  const buckets: Bucket[] = []
  const add = (startNs: bigint, bucket: JsonObject): void => {
    const total = numberIn(bucket['doc_count'])
    if (total === 0) return
    const by = bucketsIn(bucket['by']).map(({ key, doc_count: count }) => [textIn(key), numberIn(count)] as const)
    buckets.push({ startNs, total, by: Object.fromEntries(by.sort(([a], [b]) => compareText(a, b))) })
  }
  add(floorTo(int64Min, stepNs), objectIn(aggregations['below']))
  const times = aggregations['times'] ?? objectIn(aggregations['above'])['times']
  for (const bucket of bucketsIn(times)) add(bigintIn(bucket['key']), bucket)
  return buckets
}

/** How many values each day returns before days are added up. Values are missed only if a day has more. */
export const shardValues = { least: 10_000, most: 1_000_000 }

export function facetsBody(query: Query, fields: readonly string[], valuesMax: number, shardSize: number): object {
  const aggs = fields.map((field) => {
    const order = [{ _count: 'desc' }, { _key: 'asc' }]
    return [field, { terms: { field: countedField(field), size: valuesMax, shard_size: shardSize, order } }] as const
  })
  return { size: 0, track_total_hits: false, query, aggs: Object.fromEntries(aggs) }
}

/** Whether days left out values that might matter. */
export function isRough(answer: JsonObject): boolean {
  return Object.values(objectIn(answer['aggregations'])).some(
    (facet) => numberIn(objectIn(facet)['doc_count_error_upper_bound']) > 0,
  )
}

export function facetOf(answer: JsonObject, field: string): Facet {
  const buckets = bucketsIn(objectIn(answer['aggregations'])[field])
  return { field, values: buckets.map(({ key, doc_count: count }) => ({ value: textIn(key), count: numberIn(count) })) }
}
