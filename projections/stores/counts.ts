import type { Bucket, Facet } from '../index-store.ts'
import { compareText } from './row.ts'

/**
 * Adds up a histogram. A row with several values counts once in the total, and once for each of them. What counts of either sign come to
 * is never less than 0; what comes to 0 is not there.
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

/** The most frequent values, ties in text order. One whose count is 0 is none. */
export function topValues(field: string, counts: ReadonlyMap<string, number>, valuesMax: number): Facet {
  const values = met(counts)
    .sort((a, b) => b[1] - a[1] || byText(a, b))
    .slice(0, valuesMax)
  return { field, values: values.map(([value, count]) => ({ value, count })) }
}
