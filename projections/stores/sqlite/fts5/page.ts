import { nextNumber, nextRowid, type Cursor, type Rowid } from './numbers.ts'
import type { RowNumbers } from './row-numbers.ts'
import { UnknownFormat } from './segments.ts'
import { createTerm, nextTerm } from './term.ts'

// A page of a segment: where its first rowid is, where its content ends (two bytes each); the content; where its terms are, the first from the
// page's beginning, each other from the one before. A term: how many bytes it shares with the one before (not the first of a page), how many
// follow, these. Then its rows: a rowid (the first of a term or page in full, else the distance from the one before), twice the bytes of its
// places, these. A place: the distance from the one before, plus 2. What goes on on the next page does so at the beginning of its content.
// Source: as of segments.ts.

/** What is told of the postings of a table: a term, then each row that has it, then each place in that row. The same term comes once a segment. */
export type PostingListener = Readonly<{
  term(text: string): void
  /** The halves of the rowid (row-numbers.ts). False: its places do not matter. */
  row(high: number, low: number): boolean
  /** `column`: its number in the table. `offset`: the number of the token in it. */
  place(column: number, offset: number): void
}>

/** Called for a page on which a term begins: the last term before it in its segment, and the first one there, as FTS5 keeps them. */
type MeetPage = (lastBefore: Uint8Array, firstThere: Uint8Array) => void

const headerBytes = 4
/** Instead of a distance: the next number is that of a column. */
const columnMark = 1
export const endOf = (page: Uint8Array): number => ((page[2] ?? 0) << 8) | (page[3] ?? 0)

/** Where the terms of a page begin, one after the other; its end behind the last. */
export function createTermPlaces(page: Uint8Array, end: number): () => number {
  const cursor = { page, at: end }
  let place = 0
  return () => {
    if (cursor.at >= page.length) return end
    const next = place + nextNumber(cursor)
    // Up to a place beyond the page it would be read for minutes.
    if (next <= place || next >= end) throw new UnknownFormat('no place of a term')
    place = next
    return place
  }
}

/** Whether a page begins with more postings of the last term before it. */
export const goesOn = (page: Uint8Array): boolean => createTermPlaces(page, endOf(page))() > headerBytes

/**
 * Reads pages of one segment, one after the other. `isAlone`: it is not the one behind the page that was read before, and what goes on there is
 * not told.
 */
export function createPageReader(listener: PostingListener, removed: RowNumbers | undefined, meet?: MeetPage) {
  const cursor: Cursor = { page: new Uint8Array(), at: 0 }
  const term = createTerm()
  const row: Rowid = { high: 0, low: 0 }
  let isFirstRow = false
  /** How many bytes of places are left of the row. */
  let left = 0
  let isHeard = false
  let [column, offset] = [0, 0]
  let isColumnNext = false
  const readTerm = (end: number, isFirst: boolean): void => {
    const before = isFirst && meet !== undefined ? Buffer.from(term.bytes.subarray(0, term.length)) : undefined
    nextTerm(cursor, term, end, isFirst)
    if (before !== undefined) meet?.(before, term.bytes.subarray(0, term.length))
    listener.term(term.bytes.toString('utf8', 1, term.length))
    isFirstRow = true
  }
  const readRow = (): void => {
    nextRowid(cursor, row, isFirstRow)
    isFirstRow = false
    const size = nextNumber(cursor)
    // Marks a row as removed, which a table that keeps what was removed beside its segments does not.
    if ((size & 1) === 1) throw new UnknownFormat('a removed row')
    left = size >>> 1
    ;[column, offset] = [0, 0]
    isHeard = removed?.get(row.high, row.low) !== 1 && listener.row(row.high, row.low)
  }
  const readPlaces = (until: number): void => {
    while (cursor.at < until) {
      const value = nextNumber(cursor)
      if (isColumnNext) {
        ;[column, offset] = [value, 0]
        isColumnNext = false
      } else if (value === columnMark) isColumnNext = true
      else {
        offset += value - 2
        listener.place(column, offset)
      }
    }
  }
  const readRows = (end: number): void => {
    while (cursor.at < end) {
      if (left === 0) readRow()
      const until = Math.min(cursor.at + left, end)
      left -= until - cursor.at
      if (isHeard) readPlaces(until)
      else cursor.at = until
    }
  }
  return (page: Uint8Array, isAlone = false): void => {
    const end = endOf(page)
    const nextPlace = createTermPlaces(page, end)
    ;[cursor.page, cursor.at] = [page, headerBytes]
    let termAt = nextPlace()
    if (isAlone) [cursor.at, left, isColumnNext] = [termAt, 0, false]
    // What goes on from the page before begins with a rowid in full, too.
    isFirstRow = true
    readRows(termAt)
    for (let isFirst = true; termAt < end; isFirst = false) {
      readTerm(end, isFirst)
      termAt = nextPlace()
      readRows(termAt)
    }
  }
}
