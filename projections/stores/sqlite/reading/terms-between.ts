import type { Database } from '../database.ts'
import { tokensColumn, type Tables } from '../layout.ts'

/** Some terms of a file. `looked`: how many were looked at for them. */
export type Part = Readonly<{
  looked: number
  terms: readonly string[]
  /** Those of some of them that stand in the fields asked for. */
  inFields(some: readonly string[]): readonly string[]
}>

/** Sorts after every text that begins with the prefix. */
export const afterPrefix = (prefix: string): string => `${prefix}\u{10ffff}`

/** The terms of some fields between two texts, inclusive. */
type Between = Readonly<{ fields: readonly string[]; from: string; to: string }>

/** How many terms are read per query, at first and at most. A row for each would cost twice as much, and the first few may be enough. */
const termsAtOnceMin = 500
const termsAtOnceMax = 16_000

const allOf = <T>(some: readonly T[]): readonly T[] => some

/** The terms, in order, in parts: a seek in FTS5's vocabulary, not a full scan. Terms contain no blanks. FTS5 reads all postings of each. */
export function* termsBetween(database: Database, tables: Tables, { fields, from, to }: Between): Generator<Part> {
  const columns = fields.map((field) => `'${tokensColumn(field)}'`).join(', ')
  const part = `SELECT term, col IN (${columns}) AS wanted FROM ${tables.vocabulary} WHERE term >= ? AND term <= ? ORDER BY term LIMIT ?`
  const sql = `SELECT count(*) AS n, max(term) AS last, group_concat(term, ' ') FILTER (WHERE wanted) AS terms FROM (${part})`
  let first = from
  let atOnce = termsAtOnceMin
  for (;;) {
    const found = database.get(sql, first, to, atOnce)
    const looked = Number(found?.['n'])
    const terms = found?.['terms']
    yield { looked, terms: typeof terms === 'string' ? terms.split(' ') : [], inFields: allOf }
    if (looked < atOnce) return
    // A term has a row for each of its fields, and those of the last term may be in the next part.
    first = String(found?.['last'])
    atOnce = Math.min(2 * atOnce, termsAtOnceMax)
  }
}
