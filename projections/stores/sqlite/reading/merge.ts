import { compareSort } from '../../order.ts'
import { msOf } from '../rowid-parts.ts'
import type { Order, Place } from './day-query.ts'

/** A file's rows in the order asked for. `reach`: none of its rows comes before this value, so it is opened only when that is due. */
export type Source<S> = Readonly<{ of: S; reach: bigint | undefined; rows(): Iterator<Place> }>
export type Placed<S> = Readonly<{ of: S; place: Place }>

/** So many rows gather, beside twice those asked for, before they are sorted and cut: to sort after every few rows would cost more. */
const gatheredBetween = 1_000

type Bounds = Pick<Order, 'direction' | 'after' | 'limit'>

const isPast = ({ sort }: Place, { direction, after }: Bounds): boolean =>
  after !== undefined && (direction === 'asc' ? 1 : -1) * compareSort(sort, after) <= 0

/**
 * Sorts rows that come in rowid order within each millisecond, and leaves out those that the cursor is past. Of each millisecond it holds no
 * more than about twice those that may be asked for, however many there are: all attribute sets of a file have the same time.
 */
export function* inTimeOrder(rows: Iterable<Place>, bounds: Bounds): Generator<Place> {
  const { direction, limit } = bounds
  const sign = direction === 'asc' ? 1 : -1
  let group: Place[] = []
  const sorted = (): Place[] => group.sort((a, b) => sign * compareSort(a.sort, b.sort))
  let ms: bigint | undefined
  for (const place of rows) {
    if (ms !== msOf(place.timeNs)) {
      yield* sorted()
      group = []
      ms = msOf(place.timeNs)
    }
    if (isPast(place, bounds)) continue
    if (group.push(place) >= 2 * limit + gatheredBetween) group = sorted().slice(0, limit)
  }
  yield* sorted()
}

type Head<S> = { source: Source<S>; rows?: Iterator<Place>; place?: Place }

function advance<S>(head: Head<S>): boolean {
  head.rows ??= head.source.rows()
  const next = head.rows.next()
  if (next.done === true) return false
  head.place = next.value
  return true
}

/** Of two at one place, the one written last comes first. */
const comparePlaces = (a: Place, b: Place, sign: 1 | -1): number =>
  sign * compareSort(a.sort, b.sort) || b.position - a.position

/**
 * The first `limit` rows of all sources, each of which begins after the cursor, in order. Of rows with equal value and id (a document on several
 * days), only the one written last.
 */
export function mergeRows<S>(sources: readonly Source<S>[], { direction, limit }: Bounds): readonly Placed<S>[] {
  const sign = direction === 'asc' ? 1 : -1
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
      if (!advance(head)) heads = heads.filter((other) => other !== head)
    }
  } finally {
    for (const { rows } of heads) rows?.return?.()
  }
  return found
}
