import { shortHashOf } from '../../digest.ts'
import type { Database } from '../database.ts'
import { termColumns, type Tables } from '../layout.ts'
import { noPostings, postingHash, withTerm, type PostingSums } from '../posting-sums.ts'
import { readPostings } from './read-postings.ts'
import { createRowNumbers, highOf, lowOf, type RowNumbers } from '../fts5/row-numbers.ts'

/** So many rows are looked up at once, in 48 MiB. All pages are read again for each further so many. */
const rowsAtOnceMax = 2 ** 21

/** The hashes of the ids of rows that follow one another. `after` (exclusive), `last` (inclusive): their rowids, and missing ones between. */
type Rows = Readonly<{ hashes: RowNumbers; after: bigint; last: bigint }>

const [rowMin, rowMax] = [-(1n << 63n), (1n << 63n) - 1n]

function* rowsOf(database: Database, { rows }: Tables, atOnceMax: number): Generator<Rows> {
  // By the table itself: a damaged index may lack rows, and the table of their hashes would have no room for these.
  const count = Number(database.get(`SELECT count(*) AS n FROM ${rows} NOT INDEXED`)?.['n'])
  const makeHashes = (done: number): RowNumbers => createRowNumbers(Math.min(count - done, atOnceMax))
  let [hashes, after, done] = [makeHashes(0), rowMin, 0]
  for (const [row, id] of database.iterateValues(`SELECT row, id FROM ${rows} ORDER BY row`)) {
    const rowid = row as bigint
    hashes.set(highOf(rowid), lowOf(rowid), shortHashOf(String(id)))
    if (++done % atOnceMax !== 0 || done === count) continue
    yield { hashes, after, last: rowid }
    ;[hashes, after] = [makeHashes(done), rowid]
  }
  yield { hashes, after, last: rowMax }
}

/** Whether a rowid is no later than another one, both by their halves. */
const isUpTo = (high: number, low: number, lastHigh: number, lastLow: number): boolean =>
  high < lastHigh || (high === lastHigh && low >>> 0 <= lastLow >>> 0)

/** Sums over postings. `passedOver`: how many pages of them FTS5's index leads past. */
type StoredSums = Readonly<{ sums: PostingSums; passedOver: number }>

/** The sums over the postings of some rows; undefined where the pages are not understood (read-postings.ts). */
function sumsOfRows(database: Database, tables: Tables, terms: string, rows: Rows): StoredSums | undefined {
  const { hashes } = rows
  const [afterHigh, afterLow] = [highOf(rows.after), lowOf(rows.after)]
  const [lastHigh, lastLow] = [highOf(rows.last), lowOf(rows.last)]
  const isFromStart = rows.after === rowMin
  const columns = termColumns(tables).length
  let sums = noPostings
  let [text, ofHashes, idHash] = ['', 0, 0]
  const read = readPostings(database, terms, {
    term(next) {
      if (ofHashes !== 0) sums = withTerm(sums, text, ofHashes)
      text = next
      ofHashes = 0
    },
    row(high, low) {
      if (!isUpTo(high, low, lastHigh, lastLow)) return false
      if (!isFromStart && isUpTo(high, low, afterHigh, afterLow)) return false
      // A posting of a missing row counts by the rowid.
      idHash = hashes.get(high, low) || low & 0x7fff_ffff
      return true
    },
    place(column, offset) {
      ofHashes = (ofHashes + postingHash(idHash, columns, column, offset)) | 0
    },
  })
  return read && { sums: withTerm(sums, text, ofHashes), ...read }
}

/** The sums over all postings of an FTS5 table, read from its pages; undefined where they are not understood. */
export function storedSums(
  database: Database,
  tables: Tables,
  terms: string,
  atOnceMax = rowsAtOnceMax,
): StoredSums | undefined {
  let all: StoredSums = { sums: noPostings, passedOver: 0 }
  for (const rows of rowsOf(database, tables, atOnceMax)) {
    const read = sumsOfRows(database, tables, terms, rows)
    if (read === undefined) return undefined
    const { sums, passedOver } = read
    all = { sums: [(all.sums[0] + sums[0]) | 0, (all.sums[1] + sums[1]) | 0], passedOver }
  }
  return all
}
