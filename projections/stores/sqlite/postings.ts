import type { SearchItem } from '../../index-audit.ts'
import { shortHashOf } from '../digest.ts'
import type { Database } from './database.ts'
import { keywordTerms, tokensColumn, type Tables } from './layout.ts'

/** The postings of a collection's FTS5 table, read back term by term. */
export type Postings = Readonly<{
  /** Each term with a hash of its entries, columns and places. In order of the terms. */
  terms(): Generator<SearchItem>
  /** The entries of a term, and its places in each. In order of their ids. */
  entriesOf(name: string): Generator<SearchItem>
}>

const prefix = 'term '

/**
 * Rowids differ between builds, so postings are compared by a hash of their entry's id, kept in a temporary table in a file that SQLite removes. A
 * posting of a missing row counts by the rowid.
 */
function prepare(database: Database, { rows, terms }: Tables, name: string): void {
  database.exec(`CREATE TEMP TABLE h_${name} (row INTEGER PRIMARY KEY, hash INTEGER NOT NULL)`)
  for (const { row, id } of database.iterate(`SELECT row, id FROM ${rows}`)) {
    database.run(`INSERT INTO temp.h_${name} (row, hash) VALUES (?, ?)`, row as bigint, shortHashOf(String(id)))
  }
  database.exec(`CREATE VIRTUAL TABLE temp.i_${name} USING fts5vocab(main, ${terms}, 'instance')`)
}

export function createPostings(database: Database, tables: Tables, terms: string): Postings {
  const { name } = tables.shape
  let isPrepared = false
  const ready = (): void => {
    if (!isPrepared) prepare(database, { ...tables, terms }, name)
    isPrepared = true
  }
  const columns = [...tables.tokens.map(tokensColumn), keywordTerms]
  const number = `CASE col ${columns.map((column, at) => `WHEN '${column}' THEN ${at}`).join(' ')} END`
  // Within 2^62: an id's hash has 31 bits, a place less than 2^31.
  const place = `((offset * ${columns.length} + ${number} + 1) & 2147483647)`
  const hash = `sum((coalesce(hash, doc & 2147483647) * ${place}) & 2147483647)`
  const joined = `temp.i_${name} LEFT JOIN temp.h_${name} ON row = doc`
  // FTS5 has the postings of a term together, in the order of the terms: nothing is sorted.
  const grouped = `SELECT term, count(*), ${hash} FROM ${joined} GROUP BY term`
  const found = `SELECT coalesce(id, 'row ' || doc) AS id, group_concat(col || ':' || offset, ' ') AS places
    FROM temp.i_${name} LEFT JOIN ${tables.rows} ON row = doc WHERE term = ? GROUP BY doc ORDER BY 1`
  return {
    *terms() {
      ready()
      for (const [term, places, sum] of database.iterateValues(grouped)) {
        yield { name: `${prefix}${String(term)}`, value: `${String(places)} ${String(sum)}` }
      }
    },
    *entriesOf(item) {
      if (!item.startsWith(prefix)) return
      ready()
      for (const { id, places } of database.iterate(found, item.slice(prefix.length))) {
        yield { name: String(id), value: String(places) }
      }
    },
  }
}
