import { fieldBeginning, fieldSigns } from '#src/events/tokens.ts'
import { once } from '#src/lib/once.ts'
import type { Columns, Database } from '../database.ts'
import { createPageReader, goesOn } from '../fts5/page.ts'
import { createTermReader, type PageTerms } from '../fts5/page-terms.ts'
import { pageId, removedOf, segmentsOf, UnknownFormat, type Segment } from '../fts5/segments.ts'
import { termColumns, tokensColumn, type Tables } from '../layout.ts'
import { afterPrefix, type Part } from './terms-between.ts'

/** The terms of some fields that begin with `prefix` and contain `literal`. `ofWords`: only words, no tokens of named fields. */
type Wanted = Readonly<{ fields: readonly string[]; prefix: string; literal: string; ofWords: boolean }>

/** How many pages are read per query. */
const pagesAtOnce = 16

function pageIn(row: Columns | undefined): Uint8Array {
  const block = row?.['block']
  if (!(block instanceof Uint8Array)) throw new UnknownFormat('no page')
  return block
}

/** Which terms of a page stand in some fields. The postings of its last term may go on on the pages behind it. */
function createFinder(database: Database, tables: Tables, segment: Segment, fields: readonly string[]) {
  const table = tables.terms ?? ''
  const names = termColumns(tables)
  const columns = new Set(fields.map((field) => names.indexOf(tokensColumn(field))))
  let wanted: ReadonlySet<string> = new Set()
  let found = new Set<string>()
  /** The term that is being read, as long as it is not found. */
  const sought: { term?: string | undefined } = {}
  const reader = once(() =>
    createPageReader(
      {
        term: (term) => void (sought.term = wanted.has(term) ? term : undefined),
        row: () => sought.term !== undefined,
        place(column) {
          if (sought.term === undefined || !columns.has(column)) return
          found.add(sought.term)
          sought.term = undefined
        },
      },
      removedOf(database, table, segment),
    ),
  )
  const sql = `SELECT block FROM ${table}_data WHERE id = ?`
  return (number: number, page: Uint8Array, some: readonly string[]): readonly string[] => {
    if (some.length === 0) return some
    wanted = new Set(some)
    found = new Set()
    const read = reader()
    read(page, true)
    for (let next = number + 1; sought.term !== undefined && next <= segment.last; next++) {
      const behind = pageIn(database.get(sql, pageId(segment.id, next)))
      if (!goesOn(behind)) break
      read(behind)
    }
    return some.filter((term) => found.has(term))
  }
}

/** The pages on which terms with the prefix begin, and up to two more. Those that hold nothing but tokens of one field have no words. */
function pagesOfPrefix(database: Database, table: string, segment: Segment, { prefix, ofWords }: Wanted) {
  // What FTS5's index leads by: a text behind all terms before the page, and not behind its first one.
  const before = `SELECT term FROM ${table}_idx WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1`
  const sql = `SELECT pgno >> 1 AS page, CAST(term AS TEXT) AS beginning FROM ${table}_idx
    WHERE segid = ? AND pgno >> 1 > ? AND term >= coalesce((${before}), x'') AND term <= ? ORDER BY term`
  const bytesOf = (text: string): Uint8Array => Buffer.from(`0${text}`)
  const rows = database.all(sql, segment.id, segment.first, segment.id, bytesOf(prefix), bytesOf(afterPrefix(prefix)))
  const found = rows.map(({ page, beginning }) => ({ page: Number(page), beginning: String(beginning) }))
  const isOfOneField = ({ beginning }: { beginning: string }, at: number): boolean => {
    const field = fieldBeginning(beginning)
    return field !== undefined && found[at + 1]?.beginning.startsWith(field) === true
  }
  const kept = ofWords ? found.filter((page, at) => !isOfOneField(page, at)) : found
  return [segment.first, ...kept.map(({ page }) => page)]
}

function termsIn({ count, text }: PageTerms, { prefix, literal }: Wanted): Pick<Part, 'looked' | 'terms'> {
  // They are in order: what the first and the last begin with, all do.
  const isWhole = text.startsWith(prefix) && text.startsWith(prefix, text.lastIndexOf(' ') + 1)
  // Most pages are done with here.
  if (count === 0 || (isWhole && !text.includes(literal))) return { looked: count, terms: [] }
  const terms = text.split(' ')
  const some = isWhole ? terms : terms.filter((term) => term.startsWith(prefix))
  return { looked: some.length, terms: some.filter((term) => term.includes(literal)) }
}

function* termsOfSegment(database: Database, tables: Tables, segment: Segment, wanted: Wanted): Generator<Part> {
  const table = tables.terms ?? ''
  const find = createFinder(database, tables, segment, wanted.fields)
  const read = createTermReader(wanted.ofWords ? fieldSigns : '')
  const sql = `SELECT block FROM ${table}_data WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`
  const pages = pagesOfPrefix(database, table, segment, wanted)
  for (let at = 0; at < pages.length; at += pagesAtOnce) {
    const some = pages.slice(at, at + pagesAtOnce)
    const rows = database.all(sql, `[${some.map((number) => pageId(segment.id, number)).join(',')}]`)
    for (const [place, number] of some.entries()) {
      const page = pageIn(rows[place])
      yield { ...termsIn(read(page), wanted), inFields: (given) => find(number, page, given) }
    }
  }
}

/**
 * The terms of a file, in parts: from the pages of FTS5's index on which they begin, so their postings are passed over. A term comes once for each segment
 * that has it. Throws UnknownFormat, also where a part is asked for fields.
 */
export function* termsOnPages(database: Database, tables: Tables, wanted: Wanted): Generator<Part> {
  const { terms } = tables
  if (terms === undefined) return
  for (const segment of segmentsOf(database, terms)) yield* termsOfSegment(database, tables, segment, wanted)
}
