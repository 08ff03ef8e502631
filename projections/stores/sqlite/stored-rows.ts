import { parseJson } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import { timeOfRecordId, type Collection, type DocumentId, type Entry } from '../../projection.ts'
import { keywordTerm, type Row } from '../row.ts'
import { readBodies } from './bodies.ts'
import type { Columns, Database } from './database.ts'
import { firstRow, lastRow, msOf } from './rowid-parts.ts'
import { termColumns, type Tables } from './layout.ts'

/** A collection as the writer of SQLite knows it: with its tables. */
export type WrittenTables = Readonly<{ collection: Collection; tables: Tables }>

/** What FTS5 holds of a row, column by column. */
export function termsOf({ tables }: WrittenTables, { tokens, keywords, ids }: Row): readonly (string | null)[] {
  const texts = tables.tokens.map((field) => tokens.get(field) ?? null)
  const matched: string[] = []
  for (const whole of [keywords, ids]) {
    for (const [field, values] of whole) for (const value of values) matched.push(keywordTerm(field, value))
  }
  texts.push(matched.length === 0 ? null : matched.join(' '))
  return texts
}

/** Of a rowid and the texts of `termsOf`. */
export function insertTermsInto(name: string, tables: Tables): string {
  const columns = ['rowid', ...termColumns(tables)]
  return `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
}

/** The row of an id: by the unique index of documents, or by the time that a record's id begins with. */
export function findRow(database: Database, tables: Tables, id: DocumentId): Columns | undefined {
  if (tables.shape.kind === 'document') return database.get(`SELECT * FROM ${tables.rows} WHERE id = ?`, id)
  const time = timeOfRecordId(id)
  if (time === undefined) return undefined
  if (isSpilled(database, tables))
    return database.get(`SELECT * FROM ${tables.rows} WHERE time = ? AND id = ?`, time, id)
  const ms = msOf(time)
  const sql = `SELECT * FROM ${tables.rows} WHERE row BETWEEN ? AND ? AND id = ?`
  return database.get(sql, firstRow(ms), lastRow(ms), id)
}

/** How many rows are looked for, and held in memory, at once. */
const foundAtOnce = 20_000

/**
 * The rows of these ids of records; each may be removed when it is given. No index holds their ids, only their times: each alone would walk all rows
 * of its millisecond, or of the whole file. So those of one millisecond are looked for together.
 */
export function* findRecords(database: Database, tables: Tables, ids: readonly DocumentId[]): Generator<Columns> {
  const timed = ids.flatMap((id) => {
    const time = timeOfRecordId(id)
    return time === undefined ? [] : { id: id.toWellFormed(), ms: msOf(time) }
  })
  if (timed.length === 0) return
  const spilled = isSpilled(database, tables)
  const within = spilled ? '' : 'row BETWEEN ? AND ? AND '
  const sql = `SELECT * FROM ${tables.rows} WHERE ${within}id IN (SELECT value FROM json_each(?))`
  for (const [ms, together] of Map.groupBy(timed, (one) => (spilled ? 0n : one.ms))) {
    const range = spilled ? [] : [firstRow(ms), lastRow(ms)]
    for (let at = 0; at < together.length; at += foundAtOnce) {
      const asked = together.slice(at, at + foundAtOnce).map(({ id }) => id)
      yield* database.all(sql, ...range, JSON.stringify(asked))
    }
  }
}

/** Whether a millisecond ever held more rows than its rowids: then rowids are not in the order of time. */
export const isSpilled = (database: Database, { shape }: Tables): boolean =>
  database.get('SELECT spilled FROM collections WHERE name = ?', shape.name)?.['spilled'] === 1n

/** How far this file has followed the log. */
export function positionOf(database: Database): Position {
  return Number(database.get('SELECT position FROM file')?.['position'] ?? 0n)
}

/** The entry of a row and its body. Throws if the body is missing. */
export const entryOf = (columns: Columns, body: unknown, { shape }: Tables, day: string): Entry => ({
  collection: shape.name,
  id: String(columns['id']),
  day,
  document: parseJson(typeof body === 'string' ? body : '') as object,
  position: Number(columns['position']),
  ...(shape.kind === 'document' ? { created: Number(columns['created']) } : {}),
})

/** The entry of an id in one file. */
export function readEntry(database: Database, tables: Tables, id: DocumentId, day: string): Entry | undefined {
  const columns = findRow(database, tables, id)
  if (columns === undefined) return undefined
  const row = columns['row'] as bigint
  return entryOf(columns, readBodies(database, tables, [row]).get(row), tables, day)
}
