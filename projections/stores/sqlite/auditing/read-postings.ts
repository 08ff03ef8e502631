import type { Database } from '../database.ts'
import { createPageReader, type PostingListener } from '../fts5/page.ts'
import { ifKnown, pagesOf, removedOf, segmentsOf, type Segment } from '../fts5/segments.ts'

/**
 * Whether FTS5's index of its pages leads to a page: its entry for that page must sort after the last term before the page, and not after the first
 * term on it. To be asked for the pages on which a term begins, in their order. The first page of a segment needs no entry.
 */
function createLeads(database: Database, table: string, { id, first }: Segment) {
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
    for (const block of pagesOf(database, table, segment)) {
      read(block)
      page++
    }
    return passedOver
  } finally {
    leads.end()
  }
}

/**
 * Tells all postings of an FTS5 table as `createTerms` (layout.ts) makes it, from its own pages, and returns how many of these FTS5's index leads past,
 * so that the terms that begin there are not found. Its vocabulary tells the same, row by row through SQLite's virtual machine, for four times
 * the cost. Undefined where anything is not as FTS5 writes it, or another version of it does: then what was told means nothing, and its vocabulary
 * is to be asked.
 */
export function readPostings(
  database: Database,
  table: string,
  listener: PostingListener,
): Readonly<{ passedOver: number }> | undefined {
  return ifKnown(() => {
    let passedOver = 0
    for (const segment of segmentsOf(database, table)) passedOver += readSegment(database, table, segment, listener)
    return { passedOver }
  })
}
