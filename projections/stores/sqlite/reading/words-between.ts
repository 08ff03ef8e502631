import { afterField } from '#src/events/tokens.ts'
import { makeOwnTable, type Database } from '../database.ts'
import { tokensColumn, type Tables } from '../layout.ts'

/** Some terms of a file, in order. `looked`: how many were looked at for them. */
export type Part = Readonly<{
  looked: number
  terms: readonly string[]
  /** Those of some of them, in order, that stand in the fields asked for. */
  inFields(some: readonly string[]): readonly string[]
}>

export type Between = Readonly<{ fields: readonly string[]; from: string; to: string }>

/** How many postings are read per query, at first and at most. The first few may be enough; a seek costs as much as reading a hundred. */
const postingsAtOnceMin = 125
const postingsAtOnceMax = 1_000
/** Of more words than these, the postings of the part are read again for their fields. */
const seeksMax = 4

/**
 * The terms between two texts, in order and in parts, without most of those of named fields: these are passed over, field by field, since there are
 * several times as many. A few hundred words have nearly all postings. So the walk reads posting by posting, only so many of a term, and goes on
 * by a seek behind the term that it has come to.
 */
export function* wordsBetween(database: Database, tables: Tables, { fields, from, to }: Between): Generator<Part> {
  const postings = postingsOf(database, tables)
  const between = `FROM ${postings} WHERE term >= ? AND term <= ? ORDER BY term LIMIT ?`
  const sql = `SELECT count(*) AS n, group_concat(term, ' ') AS terms FROM (SELECT term ${between})`
  const inColumns = `col IN (${fields.map((field) => `'${tokensColumn(field)}'`).join(', ')})`
  const sqlOfSome = `SELECT DISTINCT term FROM (SELECT term, col ${between}) WHERE ${inColumns}`
  const sqlOfOne = `SELECT 1 FROM ${postings} WHERE term = ? AND ${inColumns} LIMIT 1`
  let first = from
  let atOnce = postingsAtOnceMin
  for (;;) {
    const found = database.get(sql, first, to, atOnce)
    const terms = eachOnce(found?.['terms'])
    /** The last term, if it may have more postings than were read. */
    const open = Number(found?.['n']) < atOnce ? undefined : terms.at(-1)
    const isIn = (term: string): boolean => database.get(sqlOfOne, term) !== undefined
    const inFields = (given: readonly string[]): readonly string[] => {
      // Those of named fields are in none of these, and may have millions of postings elsewhere.
      const some = given.filter((term) => afterField(term) === undefined)
      if (some.length <= seeksMax) return some.filter(isIn)
      const read = database.all(sqlOfSome, some[0] ?? '', some.at(-1) ?? '', atOnce)
      const there = new Set(read.map(({ term }) => String(term)))
      return some.filter((term) => there.has(term) || (term === open && isIn(term)))
    }
    yield { looked: terms.length, terms, inFields }
    if (open === undefined) return
    const after = afterField(open)
    // No term has a blank: all that begin with this one come behind it and a blank.
    first = after ?? `${open} `
    atOnce = after === undefined ? Math.min(2 * atOnce, postingsAtOnceMax) : postingsAtOnceMin
  }
}

/** A table of postings, one by one, of which FTS5 reads as many as are asked for. The vocabulary of the file reads all of each term. */
function postingsOf(database: Database, { shape, terms }: Tables): string {
  const table = `temp.i_${shape.name}`
  makeOwnTable(database, `CREATE VIRTUAL TABLE IF NOT EXISTS ${table} USING fts5vocab(main, ${terms}, 'instance')`)
  return table
}

function eachOnce(terms: unknown): readonly string[] {
  if (typeof terms !== 'string') return []
  return terms.split(' ').filter((term, at, all) => term !== all[at - 1])
}
