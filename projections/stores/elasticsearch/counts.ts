import { floorTo, int64Min } from '#src/lib/int64.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { compareText } from '#src/lib/compare-text.ts'
import type { Bucket, Facet, Selection } from '../../index-store.ts'
import { bigintIn, bucketsIn, numberIn, objectIn, textIn } from './answer-parts.ts'
import { ask, type Target } from './ask.ts'
import type { Query } from './filter.ts'
import { countedField, timeField } from './mapping.ts'

export async function count(target: Target, query: Query): Promise<number> {
  const answer = await ask(target, { size: 0, track_total_hits: true, query })
  return numberIn(objectIn(objectIn(answer['hits'])['total'])['value'])
}

/** The most values of a bucket. Histograms are by keywords with few values. */
const valuesPerBucketMax = 10_000

/** The start of the lowest bucket that begins within 64 bits. */
const firstStart = (stepNs: bigint): bigint => floorTo(int64Min, stepNs) + stepNs

type HistogramQuery = Pick<Selection, 'fromNs'> & Readonly<{ stepNs: bigint; by: string }>

/**
 * Buckets of nanoseconds. `date_histogram` computes in 64-bit integers and takes a `long` field as it is; `histogram` would use doubles, which cannot
 * hold nanoseconds of this century. The lowest bucket would begin below 64 bits, so it is counted separately.
 */
function histogramBody(query: Query, { fromNs, stepNs, by }: HistogramQuery): object {
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

export async function histogram(target: Target, query: Query, asked: HistogramQuery): Promise<readonly Bucket[]> {
  const answer = await ask(target, histogramBody(query, asked))
  const aggregations = objectIn(answer['aggregations'])
  const buckets: Bucket[] = []
  const add = (startNs: bigint, bucket: JsonObject): void => {
    const total = numberIn(bucket['doc_count'])
    if (total === 0) return
    const by = bucketsIn(bucket['by']).map(({ key, doc_count: hits }) => [textIn(key), numberIn(hits)] as const)
    buckets.push({ startNs, total, by: Object.fromEntries(by.sort(([a], [b]) => compareText(a, b))) })
  }
  add(floorTo(int64Min, asked.stepNs), objectIn(aggregations['below']))
  const times = aggregations['times'] ?? objectIn(aggregations['above'])['times']
  for (const bucket of bucketsIn(times)) add(bigintIn(bucket['key']), bucket)
  return buckets
}

/** How many values each day returns before days are added up. Values are missed only if a day has more. */
const shardValues = { least: 10_000, most: 1_000_000 }

function facetsBody(query: Query, fields: readonly string[], valuesMax: number, shardSize: number): object {
  const aggs = fields.map((field) => {
    const order = [{ _count: 'desc' }, { _key: 'asc' }]
    return [field, { terms: { field: countedField(field), size: valuesMax, shard_size: shardSize, order } }] as const
  })
  return { size: 0, track_total_hits: false, query, aggs: Object.fromEntries(aggs) }
}

/** Whether days left out values that might matter. */
function isRough(answer: JsonObject): boolean {
  return Object.values(objectIn(answer['aggregations'])).some(
    (facet) => numberIn(objectIn(facet)['doc_count_error_upper_bound']) > 0,
  )
}

function facetOf(answer: JsonObject, field: string): Facet {
  const buckets = bucketsIn(objectIn(answer['aggregations'])[field])
  return { field, values: buckets.map(({ key, doc_count: hits }) => ({ value: textIn(key), count: numberIn(hits) })) }
}

export async function facets(target: Target, query: Query, fields: readonly string[], valuesMax: number) {
  for (let shardSize = shardValues.least; ; shardSize *= 10) {
    const answer = await ask(target, facetsBody(query, fields, valuesMax, shardSize))
    if (isRough(answer) && shardSize < shardValues.most) continue
    return fields.map((field) => facetOf(answer, field))
  }
}
