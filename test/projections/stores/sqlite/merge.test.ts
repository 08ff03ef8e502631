import { expect } from 'chai'
import { compareSort } from '#projections/stores/order.ts'
import type { Place } from '#projections/stores/sqlite/reading/day-query.ts'
import { inTimeOrder, mergeRows } from '#projections/stores/sqlite/reading/merge.ts'

const nsOf = (ms: number): bigint => BigInt(ms) * 1_000_000n

/** Rows of two milliseconds, many of the second, as a walk has them: by millisecond, in no order within it. */
const rows: readonly Place[] = Array.from({ length: 20_010 }, (_, n): Place => {
  const timeNs = n < 10 ? nsOf(1) + BigInt(9 - n) : nsOf(2) + BigInt((n * 7_919) % 5)
  return { row: BigInt(n), timeNs, position: n, sort: { value: timeNs, id: `id-${(n * 7_919) % 20_011}` } }
})

describe('rows of one file in the order of time', () => {
  for (const direction of ['asc', 'desc'] as const) {
    const sign = direction === 'asc' ? 1 : -1
    const walked = direction === 'asc' ? rows : rows.toReversed()
    const ordered = rows.toSorted((a, b) => sign * compareSort(a.sort, b.sort))
    const after = ordered[5_003]?.sort
    for (const [name, bounds, from] of [
      ['from the first', { direction, after: undefined, limit: 100 }, 0],
      ['after a cursor', { direction, after, limit: 100 }, 5_004],
    ] as const) {
      it(`are sorted, of whole milliseconds no more than may be asked for (${direction}, ${name})`, () => {
        const given = [...inTimeOrder(walked, bounds)]
        expect(given.slice(0, 100)).to.deep.equal(ordered.slice(from, from + 100))
        expect(given.length).to.be.lessThan(2_000)
        const sources = [1, 2].map((of) => ({ of, reach: undefined, rows: () => inTimeOrder(walked, bounds) }))
        const found = mergeRows(sources, bounds).map(({ place }) => place)
        expect(found, 'of two files with the same rows').to.deep.equal(ordered.slice(from, from + 100))
      })
    }
  }
})
