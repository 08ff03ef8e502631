import { compareText } from '#src/lib/compare-text.ts'
import type { Bucket, Facet } from '../index-store.ts'

/**
 * Adds up a histogram. A row with several values counts once in the total, and once for each value. Counts may be negative, but their sums are not; a sum of
 * 0 is left out.
 */
export type Counter = Readonly<{
  add(startNs: bigint, values: readonly string[], count: number): void
  buckets(): readonly Bucket[]
}>

const byText = ([a]: readonly [string, number], [b]: readonly [string, number]): number => compareText(a, b)

const met = (counts: ReadonlyMap<string, number>): [string, number][] => [...counts].filter(([, count]) => count !== 0)

export function createCounter(): Counter {
  const buckets = new Map<bigint, { total: number; by: Map<string, number> }>()
  return {
    add(startNs, values, count) {
      const bucket = buckets.get(startNs) ?? { total: 0, by: new Map<string, number>() }
      buckets.set(startNs, bucket)
      bucket.total += count
      for (const value of values) bucket.by.set(value, (bucket.by.get(value) ?? 0) + count)
    },
    buckets: () =>
      [...buckets]
        .filter(([, { total }]) => total !== 0)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([startNs, { total, by }]) => ({ startNs, total, by: Object.fromEntries(met(by).sort(byText)) })),
  }
}

/** The most frequent values, ties in text order, without those whose count is 0. */
export function topValues(field: string, counts: ReadonlyMap<string, number>, valuesMax: number): Facet {
  const values = met(counts)
    .sort((a, b) => b[1] - a[1] || byText(a, b))
    .slice(0, valuesMax)
  return { field, values: values.map(([value, count]) => ({ value, count })) }
}
