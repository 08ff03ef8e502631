import type { Database } from '../database.ts'
import { nextNumber, type Cursor } from './numbers.ts'
import { createRowNumbers, type RowNumbers } from './row-numbers.ts'

// Where FTS5's own tables have what. Source: the comments on the format in ext/fts5/fts5_index.c, SQLite 3.53.

/** The version in the table's configuration, by which FTS5 itself tells whether it can read one. */
const knownVersion = 4n
/** Of the row in its data that names its segments. */
const structureId = 10
/** What stands behind the cookie of a structure with origins, which tables have that can remove rows without knowing their texts. */
const withOrigins = 0xff00_0001
/** A segment's pages have ids from its number times this on; those of what was removed from it are told apart by a larger number. */
const pagesOfSegment = 1n << 37n
const removedFrom = 1 << 16

type Pages = Readonly<{ id: number; first: number; last: number }>
export type Segment = Pages & Readonly<{ removedPages: number }>

/** Thrown where something else was found than FTS5 writes, or this reads. */
export class UnknownFormat extends Error {}

/** What a task that reads this format returns; undefined where the format is another one. */
export function ifKnown<T>(task: () => T): T | undefined {
  try {
    return task()
  } catch (error) {
    // In a page that is damaged a term may claim to be of any length, and a structure to go on behind its end.
    if (error instanceof UnknownFormat || error instanceof RangeError) return undefined
    throw error
  }
}

/** Of a page of a segment, in the table's data. */
export const pageId = (segment: number, page: number): bigint => BigInt(segment) * pagesOfSegment + BigInt(page)

export function* pagesOf(database: Database, table: string, { id, first, last }: Pages): Generator<Uint8Array> {
  let next = pageId(id, first)
  const end = pageId(id, last)
  const sql = `SELECT id, block FROM ${table}_data WHERE id BETWEEN ${next} AND ${end} ORDER BY id`
  for (const [page, block] of database.iterateValues(sql)) {
    if (page !== next++ || !(block instanceof Uint8Array)) throw new UnknownFormat('no page')
    yield block
  }
  if (next <= end) throw new UnknownFormat('no page')
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

/** The segments of a table as `createTerms` (layout.ts) makes it. Throws UnknownFormat. */
export function segmentsOf(database: Database, table: string): readonly Segment[] {
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
export function removedOf(database: Database, table: string, { id, removedPages }: Segment): RowNumbers | undefined {
  if (removedPages === 0) return undefined
  const pages = [...pagesOf(database, table, { id: id + removedFrom, first: 0, last: removedPages - 1 })]
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
