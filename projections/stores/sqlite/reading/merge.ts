import { compareSort } from '../../order.ts'
import { msOf } from '../rowid-parts.ts'
import type { Order, Place } from './day-query.ts'

/** A file's rows in the order asked for. `reach`: none of its rows comes before this value, so it is opened only when that is due. */
export type Source<S> = Readonly<{ of: S; reach: bigint | undefined; rows(): Iterator<Place> }>
export type Placed<S> = Readonly<{ of: S; place: Place }>

/** Sorts rows that come in rowid order within each millisecond. */
export function* inTimeOrder(rows: Iterable<Place>, direction: 'asc' | 'desc'): Generator<Place> {
  const sign = direction === 'asc' ? 1 : -1
  let group: Place[] = []
  const sorted = (): readonly Place[] => group.sort((a, b) => sign * compareSort(a.sort, b.sort))
  for (const place of rows) {
    const [first] = group
    if (first !== undefined && msOf(first.timeNs) !== msOf(place.timeNs)) {
      yield* sorted()
      group = []
    }
    group.push(place)
  }
  yield* sorted()
}

type Head<S> = { source: Source<S>; rows?: Iterator<Place>; place?: Place }

function advance<S>(head: Head<S>, isPast: (place: Place) => boolean): boolean {
  head.rows ??= head.source.rows()
  for (;;) {
    const next = head.rows.next()
    if (next.done === true) return false
    if (isPast(next.value)) continue
    head.place = next.value
    return true
  }
}

/** Of two at one place, the one written last comes first. */
const comparePlaces = (a: Place, b: Place, sign: 1 | -1): number =>
  sign * compareSort(a.sort, b.sort) || b.position - a.position

/**
 * The first `limit` rows of all sources after the cursor, in order. Of rows with equal value and id (a document on several days), only the one
 * written last.
 */
export function mergeRows<S>(
  sources: readonly Source<S>[],
  { direction, after, limit }: Omit<Order, 'orderBy'> & Readonly<{ limit: number }>,
): readonly Placed<S>[] {
  const sign = direction === 'asc' ? 1 : -1
  const isPast = (place: Place): boolean => after !== undefined && sign * compareSort(place.sort, after) <= 0
  const compare = (a: Head<S>, b: Head<S>): number => {
    if (a.place !== undefined && b.place !== undefined) return comparePlaces(a.place, b.place, sign)
    const [x, y] = [a.place?.sort.value ?? a.source.reach, b.place?.sort.value ?? b.source.reach]
    // A source that was not opened yet goes first if it may hold the next row.
    if (x === undefined || y === undefined || x === y) return a.place === undefined ? -1 : 1
    return sign * (x < y ? -1 : 1)
  }
  let heads: Head<S>[] = sources.map((source) => ({ source }))
  const found: Placed<S>[] = []
  try {
    while (found.length < limit && heads.length > 0) {
      const head = heads.reduce((best, next) => (compare(next, best) < 0 ? next : best))
      const { place } = head
      const last = found.at(-1)?.place.sort
      if (place !== undefined && (last === undefined || compareSort(last, place.sort) !== 0)) {
        found.push({ of: head.source.of, place })
      }
      if (!advance(head, isPast)) heads = heads.filter((other) => other !== head)
    }
  } finally {
    for (const { rows } of heads) rows?.return?.()
  }
  return found
}
