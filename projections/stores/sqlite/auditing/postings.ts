import { once } from '#src/lib/once.ts'
import type { SearchItem } from '../../../index-audit.ts'
import type { Collection } from '../../../projection.ts'
import { shortHashOf } from '../../digest.ts'
import { rowOf } from '../../row.ts'
import { createWholeRows } from '../bodies.ts'
import type { Database } from '../database.ts'
import { createTerms, termColumns, type Tables } from '../layout.ts'
import { noPostings, postingHashSql, textOfSums, withTerm } from '../posting-sums.ts'
import { entryOf, insertTermsInto, termsOf } from '../stored-rows.ts'
import { storedSums } from './stored-sums.ts'

/** The postings of a collection in a file. */
export type Postings = Readonly<{
  /** What searches are led past, though it is there; normally nothing. In order of the names. */
  damages(): Generator<SearchItem>
  /** A digest of all of them that does not depend on their order; '' where there are none. */
  digest(): string
  /** Each term with a hash of its entries, columns and places. In order of the terms. */
  terms(): Generator<SearchItem>
  /** The entries of a term, and its places in each. In order of their ids. */
  entriesOf(name: string): Generator<SearchItem>
}>

const prefix = 'term '

/** An FTS5 table, in the file (`main`) or beside it (`temp`). */
type Stored = Readonly<{ schema: 'main' | 'temp'; terms: string }>

/**
 * Rowids differ between builds, so postings are compared by a hash of their entry's id, kept in a temporary table in a file that SQLite removes. A
 * posting of a missing row counts by the rowid.
 */
function prepare(database: Database, { rows, shape: { name } }: Tables, { schema, terms }: Stored): void {
  database.exec(`CREATE TEMP TABLE h_${name} (row INTEGER PRIMARY KEY, hash INTEGER NOT NULL)`)
  for (const { row, id } of database.iterate(`SELECT row, id FROM ${rows}`)) {
    database.run(`INSERT INTO temp.h_${name} (row, hash) VALUES (?, ?)`, row as bigint, shortHashOf(String(id)))
  }
  database.exec(`CREATE VIRTUAL TABLE temp.i_${name} USING fts5vocab(${schema}, ${terms}, 'instance')`)
}

/** Read back from FTS5, term by term. `prepareThem` is called before the first is read. */
function createStoredPostings(database: Database, tables: Tables, prepareThem: () => void): Postings {
  const ready = once(prepareThem)
  const { name } = tables.shape
  const columns = termColumns(tables)
  const column = `CASE col ${columns.map((each, at) => `WHEN '${each}' THEN ${at}`).join(' ')} END`
  const hash = `sum(${postingHashSql('coalesce(hash, doc & 2147483647)', columns.length, column, 'offset')})`
  const joined = `temp.i_${name} LEFT JOIN temp.h_${name} ON row = doc`
  // FTS5 has the postings of a term together, in the order of the terms: nothing is sorted.
  const grouped = `SELECT term, count(*), ${hash} FROM ${joined} GROUP BY term`
  const summed = `SELECT term, ${hash} & 4294967295 FROM ${joined} GROUP BY term`
  const found = `SELECT coalesce(id, 'row ' || doc) AS id, group_concat(col || ':' || offset, ' ') AS places
    FROM temp.i_${name} LEFT JOIN ${tables.rows} ON row = doc WHERE term = ? GROUP BY doc ORDER BY 1`
  return {
    *damages() {},
    digest() {
      ready()
      let sums = noPostings
      for (const [term, hashes] of database.iterateValues(summed)) sums = withTerm(sums, String(term), Number(hashes))
      return textOfSums(sums)
    },
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

/** The postings of a file that has them. */
export function createPostings(database: Database, tables: Tables, terms: string): Postings {
  const told = createStoredPostings(database, tables, () => prepare(database, tables, { schema: 'main', terms }))
  const stored = once(() => storedSums(database, tables, terms))
  return {
    ...told,
    *damages() {
      const passedOver = stored()?.passedOver ?? 0
      if (passedOver > 0) yield { name: `damage in the index of ${terms}`, value: `it leads past ${passedOver} pages` }
    },
    digest() {
      const sums = stored()?.sums
      return sums === undefined ? told.digest() : textOfSums(sums)
    },
  }
}

/** Makes the postings of a file that has sums over them only, from its entries, in a temporary table. */
function makeTerms(database: Database, tables: Tables, collection: Collection): void {
  const terms = `f_${tables.shape.name}`
  database.exec(createTerms(`temp.${terms}`, tables))
  const insert = insertTermsInto(`temp.${terms}`, tables)
  const written = { collection, tables }
  for (const columns of createWholeRows(database, tables).all()) {
    const entry = entryOf(columns, columns['body'], tables, '')
    database.run(insert, columns['row'] as bigint, ...termsOf(written, rowOf(tables.shape, collection, entry)))
  }
  prepare(database, tables, { schema: 'temp', terms })
}

/** The postings of a file that has sums over them only: all that is asked of them where nothing differs. */
export function createSummedPostings(database: Database, tables: Tables, collection: Collection): Postings {
  const made = createStoredPostings(database, tables, () => makeTerms(database, tables, collection))
  const sql = `SELECT ${tables.sums.map((sum) => `coalesce(sum(${sum}), 0)`).join(', ')} FROM ${tables.rows}`
  return {
    ...made,
    digest() {
      const [a, b] = Object.values(database.get(sql) ?? {}).map((sum) => Number(BigInt.asIntN(32, sum as bigint)))
      return textOfSums([a ?? 0, b ?? 0])
    },
  }
}
