import type { Database } from '../database.ts'
import { createRowNumbers, type RowNumbers } from './row-numbers.ts'

// FTS5's own tables, read without FTS5. Its vocabulary tells the same, row by row through SQLite's virtual machine, for four times the cost.
// Source: the comments on the format in ext/fts5/fts5_index.c, SQLite 3.53. All numbers are varints, if not said otherwise: seven bits a byte,
// the highest first, the ninth byte with eight.

/** What is told of the postings of a table: a term, then each row that has it, then each place in that row. The same term comes once a segment. */
type PostingListener = Readonly<{
  term(text: string): void
  /** The halves of the rowid (row-numbers.ts). False: its places do not matter. */
  row(high: number, low: number): boolean
  /** `column`: its number in the table. `offset`: the number of the token in it. */
  place(column: number, offset: number): void
}>

/** The version in the table's configuration, by which FTS5 itself tells whether it can read one. */
const knownVersion = 4n
/** Of the row in its data that names its segments. */
const structureId = 10
/** What stands behind the cookie of a structure with origins, which tables have that can remove rows without knowing their texts. */
const withOrigins = 0xff00_0001
/** Each term begins with it, because the table has no indexes of prefixes beside its main one. */
const mainIndex = 0x30
/** A segment's pages have ids from its number times this on; those of what was removed from it are told apart by a larger number. */
const pagesOfSegment = 1n << 37n
const removedFrom = 1 << 16
/** A page's content begins behind the place of its first rowid and its own end, two bytes each. */
const headerBytes = 4
/** Instead of a distance: the next number is that of a column. */
const columnMark = 1
/** Where FTS5 cuts a term off, and what each begins with. */
const termBytesMax = 32_768 + 1

type Pages = Readonly<{ id: number; first: number; last: number }>
type Segment = Pages & Readonly<{ removedPages: number }>

/** Called for a page on which a term begins: the last term before it in its segment, and the first one there, as FTS5 keeps them. */
type MeetPage = (lastBefore: Uint8Array, firstThere: Uint8Array) => void

/** Thrown where something else was found than FTS5 writes, or this reads; never out of this file. */
class UnknownFormat extends Error {}

function* blocksOf(database: Database, table: string, { id, first, last }: Pages): Generator<Uint8Array> {
  const idOf = (page: number): bigint => BigInt(id) * pagesOfSegment + BigInt(page)
  let next = idOf(first)
  const end = idOf(last)
  const sql = `SELECT id, block FROM ${table}_data WHERE id BETWEEN ${next} AND ${end} ORDER BY id`
  for (const [page, block] of database.iterateValues(sql)) {
    if (page !== next++ || !(block instanceof Uint8Array)) throw new UnknownFormat('no page')
    yield block
  }
  if (next <= end) throw new UnknownFormat('no page')
}

/** A place in a page, or in the structure. */
type Cursor = { page: Uint8Array; at: number }

const nextByte = (cursor: Cursor): number => cursor.page[cursor.at++] ?? 0

/** Of at most 32 bits: of a longer one the lower ones. */
function nextNumber(cursor: Cursor): number {
  let byte = nextByte(cursor)
  let value = byte & 0x7f
  while (byte >= 0x80) {
    byte = nextByte(cursor)
    value = (value << 7) | (byte & 0x7f)
  }
  return value
}

/** The structure, behind what tells its form. */
function structureOf(database: Database, table: string): Cursor {
  const version = database.get(`SELECT v FROM ${table}_config WHERE k = 'version'`)?.['v']
  const block = database.get(`SELECT block FROM ${table}_data WHERE id = ${structureId}`)?.['block']
  if (version !== knownVersion || !(block instanceof Uint8Array)) throw new UnknownFormat('another version')
  const form = new DataView(block.buffer, block.byteOffset, block.byteLength).getUint32(4)
  if (form !== withOrigins) throw new UnknownFormat('another structure')
  return { page: block, at: 8 }
}

function segmentsOf(database: Database, table: string): readonly Segment[] {
  const cursor = structureOf(database, table)
  const numbers = (count: number): readonly number[] => {
    if (cursor.at >= cursor.page.length) throw new UnknownFormat('no end')
    return Array.from({ length: count }, () => nextNumber(cursor))
  }
  const segments: Segment[] = []
  const [levels = 0] = numbers(3)
  for (let level = 0; level < levels; level++) {
    // How many of them are being merged, and how many there are.
    const [, count = 0] = numbers(2)
    for (let segment = 0; segment < count; segment++) {
      // Between: of which transactions it is. Then: how many rows were removed from it, and how many it has.
      const [id = 0, first = 0, last = 0, , , removedPages = 0] = numbers(8)
      // One that is being merged, all of which is in the other already, begins nowhere.
      if (first > 0) segments.push({ id, first, last, removedPages })
    }
  }
  return segments
}

/** The rowids that no longer count in a segment; undefined: none. */
function removedOf(database: Database, table: string, { id, removedPages }: Segment): RowNumbers | undefined {
  if (removedPages === 0) return undefined
  const pages = [...blocksOf(database, table, { id: id + removedFrom, first: 0, last: removedPages - 1 })]
  // A byte for the width of a key, one for rowid 0, two of nothing, four for their count; then slots, of which empty ones are 0.
  const removed = createRowNumbers(pages.reduce((all, { length }) => all + length / 4, 0))
  for (const page of pages) {
    const bytes = new DataView(page.buffer, page.byteOffset, page.byteLength)
    const width = page[0] === 4 ? 4 : 8
    if (page[1] !== 0) removed.set(0, 0, 1)
    for (let at = 8; at + width <= page.length; at += width) {
      const high = width === 4 ? 0 : bytes.getInt32(at)
      const low = bytes.getInt32(at + width - 4)
      if (high !== 0 || low !== 0) removed.set(high, low, 1)
    }
  }
  return removed
}

/**
 * Whether FTS5's index leads whoever looks for a term of a page to that page: its text for it is behind the last term before, and not behind the
 * first one there. Asked for the pages on which a term begins, in their order. To the first of a segment everything leads that leads to none.
 */
function createLeads(database: Database, table: string, { id, first }: Pages) {
  const sql = `SELECT pgno >> 1, CAST(term AS BLOB) FROM ${table}_idx WHERE segid = ${id} AND pgno >> 1 >= ${first} ORDER BY term`
  const entries = database.iterateValues(sql)
  return {
    leadTo(page: number, lastBefore: Uint8Array, firstThere: Uint8Array): boolean {
      if (page === first) return true
      for (;;) {
        const entry = entries.next()
        if (entry.done === true) return false
        const [to, term] = entry.value as [bigint, Uint8Array]
        if (Number(to) < page) continue
        return Number(to) === page && Buffer.compare(term, lastBefore) > 0 && Buffer.compare(term, firstThere) <= 0
      }
    },
    /** A statement that is not read to its end keeps what it reads from being written again. */
    end: (): void => void entries.return?.(),
  }
}

/** By its halves. */
type Rowid = { high: number; low: number }

function nextRowid(cursor: Cursor, row: Rowid, isInFull: boolean): void {
  let [high, low] = [0, 0]
  for (let read = 0; ; read++) {
    const byte = nextByte(cursor)
    const bits = read === 8 ? 8 : 7
    high = (high << bits) | (low >>> (32 - bits))
    low = (low << bits) | (read === 8 ? byte : byte & 0x7f)
    if (byte < 0x80 || read === 8) break
  }
  if (!isInFull) {
    const sum = (row.low >>> 0) + (low >>> 0)
    high = (row.high + high + (sum > 0xffff_ffff ? 1 : 0)) | 0
    low = sum | 0
  }
  row.high = high
  row.low = low
}

/** Where the terms of a page begin, one after the other; its end behind the last. */
function createTermPlaces(page: Uint8Array, end: number): () => number {
  const cursor = { page, at: end }
  let place = 0
  return () => (cursor.at < page.length ? (place += nextNumber(cursor)) : end)
}

/**
 * Reads the pages of one segment. A page: where its first rowid is, where its content ends; the content; where its terms are, the first from
 * the page's beginning, each other from the one before. A term: how many bytes it shares with the one before (not the first of a page), how
 * many follow, these. Then its rows: a rowid (the first of a term or page in full, else the distance from the one before), twice the bytes of its
 * places, these. A place: the distance from the one before, plus 2. What goes on on the next page does so at the beginning of its content.
 */
function createPageReader(listener: PostingListener, removed: RowNumbers | undefined, meet: MeetPage) {
  const cursor: Cursor = { page: new Uint8Array(), at: 0 }
  const text = Buffer.allocUnsafe(termBytesMax)
  let textBytes = 0
  const row: Rowid = { high: 0, low: 0 }
  let isFirstRow = false
  /** How many bytes of places are left of the row. */
  let left = 0
  let isHeard = false
  let [column, offset] = [0, 0]
  let isColumnNext = false
  const readTerm = (isFirst: boolean): void => {
    const kept = isFirst ? 0 : nextNumber(cursor)
    const added = nextNumber(cursor)
    // Backwards it would be read for minutes, from far before the page.
    if (added < 0) throw new UnknownFormat('a length of 32 bits')
    const bytes = cursor.page.subarray(cursor.at, cursor.at + added)
    cursor.at += added
    if (isFirst) meet(text.subarray(0, textBytes), bytes)
    text.set(bytes, kept)
    textBytes = kept + bytes.length
    if (text[0] !== mainIndex) throw new UnknownFormat('another index')
    listener.term(text.toString('utf8', 1, textBytes))
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
  const readRows = (nextTerm: number): void => {
    while (cursor.at < nextTerm) {
      if (left === 0) readRow()
      const until = Math.min(cursor.at + left, nextTerm)
      left -= until - cursor.at
      if (isHeard) readPlaces(until)
      else cursor.at = until
    }
  }
  return (page: Uint8Array): void => {
    const end = ((page[2] ?? 0) << 8) | (page[3] ?? 0)
    const nextPlace = createTermPlaces(page, end)
    ;[cursor.page, cursor.at] = [page, headerBytes]
    let nextTerm = nextPlace()
    // What goes on from the page before begins with a rowid in full, too.
    isFirstRow = true
    readRows(nextTerm)
    for (let isFirst = true; nextTerm < end; isFirst = false) {
      readTerm(isFirst)
      nextTerm = nextPlace()
      readRows(nextTerm)
    }
  }
}

/** How many of its pages FTS5's index leads past. */
function readSegment(database: Database, table: string, segment: Segment, listener: PostingListener): number {
  let passedOver = 0
  let page = segment.first
  const removed = removedOf(database, table, segment)
  const leads = createLeads(database, table, segment)
  try {
    const read = createPageReader(listener, removed, (lastBefore, firstThere) => {
      if (!leads.leadTo(page, lastBefore, firstThere)) passedOver++
    })
    for (const block of blocksOf(database, table, segment)) {
      read(block)
      page++
    }
    return passedOver
  } finally {
    leads.end()
  }
}

/**
 * Tells all postings of an FTS5 table as `createTerms` (layout.ts) makes it, and returns how many of its pages FTS5's index leads past, so that the
 * terms that begin there are not found. Undefined where anything is not as FTS5 writes it, or another version of it does: then what was told
 * means nothing, and its vocabulary is to be asked.
 */
export function readPostings(
  database: Database,
  table: string,
  listener: PostingListener,
): Readonly<{ passedOver: number }> | undefined {
  let passedOver = 0
  try {
    for (const segment of segmentsOf(database, table)) {
      passedOver += readSegment(database, table, segment, listener)
    }
    return { passedOver }
  } catch (error) {
    // In a page that is damaged a term may claim to be of any length, and a structure to go on behind its end.
    if (error instanceof UnknownFormat || error instanceof RangeError) return undefined
    throw error
  }
}
