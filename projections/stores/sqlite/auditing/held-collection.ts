import { compareText } from '#src/lib/compare-text.ts'
import { stepsBelow } from '#src/lib/int64.ts'
import type { Digest, Fingerprint, SearchItem } from '../../../index-audit.ts'
import type { Collection, DocumentId, Entry } from '../../../projection.ts'
import { createDigester, createOrderedDigester, fingerprintOf } from '../../digest.ts'
import { createWholeRows, type WholeRows } from '../bodies.ts'
import { isCounted } from '../counted-where.ts'
import type { Columns, Database } from '../database.ts'
import { keywordColumn, minuteNs, numberColumn, singleValues, type Tables } from '../layout.ts'
import { msOf, msOfRow } from '../rowid-parts.ts'
import { rowidValues, type RowidValues } from '../rowid-values.ts'
import { entryOf, isSpilled } from '../stored-rows.ts'
import { wrongTrees } from './check-trees.ts'
import { tellsValues, wrongCounts } from './check-values.ts'
import { createPostings, createSummedPostings, type Postings } from './postings.ts'

/** A collection as it is read. `collection`: to make the postings of its entries, where the file has sums over them only. */
export type CollectionToRead = Readonly<{ tables: Tables; collection?: Collection | undefined }>

/** A collection in a file that is read whole. `earliest`, `latest`: the range of times that the file claims for its rows. */
export type HeldCollection = Readonly<{
  tables: Tables
  whole: WholeRows
  spilled: boolean
  earliest: bigint | undefined
  latest: bigint | undefined
  /** The values that rowids encode, by id. */
  values: RowidValues
  postings: Postings | undefined
}>

const shown = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)

/** Everything of a row that readers can see, each value with its type. */
function textOf(columns: Columns, held: HeldCollection): string {
  const small: string[] = []
  for (const [name, value] of Object.entries(columns)) {
    // Rowids do not count: they depend on how batches were split.
    if (name !== 'row' && name !== 'body' && !held.tables.sums.includes(name))
      small.push(`${name} ${value === null ? 'null' : typeof value} ${shown(value)}`)
  }
  const { body } = columns
  const isRight = isInPlace(columns, held) && tellsValues(columns, held)
  return `${JSON.stringify(small)}${isRight ? '' : ' out of place'}\n${typeof body} ${shown(body)}`
}

/** Whether walks and the file's range of times find the row. Whether look-ups by id do, its id and time tell, which are compared as they are. */
function isInPlace({ row, time }: Columns, { spilled, earliest, latest }: HeldCollection): boolean {
  if (typeof row !== 'bigint' || typeof time !== 'bigint') return false
  if (earliest === undefined || latest === undefined || time < earliest || time > latest) return false
  return spilled || msOfRow(row) === msOf(time)
}

/** The counts per minute that are not 0, in order of their names. */
function* minutesOf(database: Database, { minutes, counted }: Tables): Generator<SearchItem> {
  if (counted.length === 0) return
  const name = `'minute ' || field || ' ' || minute || ' ' || value`
  for (const row of database.iterate(`SELECT ${name} AS name, count FROM ${minutes} WHERE count <> 0 ORDER BY 1`))
    yield { name: String(row['name']), value: String(row['count']) }
}

/** The counts per minute that an entry is in. Counts of values together are items only where they differ from the file's own rows. */
export function countsOf(database: Database, held: HeldCollection, id: DocumentId): readonly SearchItem[] {
  const { counted, shape } = held.tables
  const columns = columnsOf(database, held, id)
  const time = columns?.['time']
  if (typeof time !== 'bigint' || !isCounted(shape, (field) => columns?.[numberColumn(field)])) return []
  const minute = stepsBelow(time, minuteNs)
  return counted.flatMap((field) =>
    singleValues(columns?.[keywordColumn(field)], 1).map(([value, by]) => ({
      name: `minute ${field} ${minute} ${value}`,
      value: String(by),
    })),
  )
}

/** In order of their names: 'count …', 'damage …', 'minute …'. */
function* allCounts(database: Database, held: HeldCollection): Generator<SearchItem> {
  yield* wrongCounts(database, held)
  yield* held.postings?.damages() ?? []
  yield* wrongTrees(database, held.tables)
  yield* minutesOf(database, held.tables)
}

/** In order of their names: 'count …', 'damage …', 'minute …', 'term …'. */
export function* searchItemsOf(database: Database, held: HeldCollection): Generator<SearchItem> {
  yield* allCounts(database, held)
  yield* held.postings?.terms() ?? []
}

export function digestOf(database: Database, collection: string, held: HeldCollection): Digest {
  const [content, search] = [createDigester(), createOrderedDigester()]
  let entries = 0
  for (const columns of held.whole.all()) {
    entries++
    content.add(textOf(columns, held))
  }
  let items = 0
  for (const { name, value } of allCounts(database, held)) {
    items++
    search.add(`${name}\n${value}`)
  }
  const postings = held.postings?.digest() ?? ''
  const isEmpty = items === 0 && postings === ''
  return { collection, entries, content: content.value(), search: isEmpty ? '' : `${search.value()} ${postings}` }
}

export const fingerprintOfRow = (columns: Columns, held: HeldCollection): Fingerprint => ({
  id: String(columns['id']),
  hash: fingerprintOf(textOf(columns, held)),
  position: Number(columns['position']),
})

/** A row and its body, by id; the first of several. */
export function columnsOf(database: Database, { tables, whole }: HeldCollection, id: DocumentId): Columns | undefined {
  const row = database.get(`SELECT row FROM ${tables.rows} WHERE id = ? ORDER BY row`, id)?.['row']
  return typeof row === 'bigint' ? whole.get(row) : undefined
}

export function* fingerprintsOf(database: Database, held: HeldCollection): Generator<Fingerprint> {
  for (const { row } of database.iterate(`SELECT row FROM ${held.tables.rows} ORDER BY id, row`)) {
    const columns = held.whole.get(row as bigint)
    if (columns !== undefined) yield fingerprintOfRow(columns, held)
  }
}

/** Rowids in the order of ids. Ids of records begin with their time, so only those of one millisecond need sorting. */
function* rowsById(database: Database, { tables, spilled }: HeldCollection): Generator<bigint> {
  if (tables.shape.kind === 'document' || spilled) {
    for (const { row } of database.iterate(`SELECT row FROM ${tables.rows} ORDER BY id`)) yield row as bigint
    return
  }
  let together: (readonly [id: string, row: bigint])[] = []
  const sorted = (): readonly bigint[] => together.sort(([a], [b]) => compareText(a, b)).map(([, row]) => row)
  let ms: bigint | undefined
  for (const { row, id } of database.iterate(`SELECT row, id FROM ${tables.rows} ORDER BY row`)) {
    const next = msOfRow(row as bigint)
    if (next !== ms) {
      yield* sorted()
      together = []
    }
    ms = next
    together.push([String(id), row as bigint])
  }
  yield* sorted()
}

export function* entriesOf(database: Database, held: HeldCollection, day: string): Generator<Entry> {
  for (const row of rowsById(database, held)) {
    const columns = held.whole.get(row)
    if (columns !== undefined) yield entryOf(columns, columns['body'], held.tables, day)
  }
}

export function storedOf(
  database: Database,
  held: HeldCollection,
  id: DocumentId,
): Readonly<Record<string, string>> | undefined {
  const columns = columnsOf(database, held, id)
  if (columns === undefined) return undefined
  const seen = Object.entries(columns).filter(([name]) => !held.tables.sums.includes(name))
  return Object.fromEntries(seen.map(([name, value]) => [name, shown(value)]))
}

function postingsOf(database: Database, { tables, collection }: CollectionToRead): Postings | undefined {
  if (tables.terms !== undefined) return createPostings(database, tables, tables.terms)
  if (tables.sums.length === 0 || collection === undefined) return undefined
  return createSummedPostings(database, tables, collection)
}

export function holdCollection(database: Database, read: CollectionToRead): HeldCollection {
  const { tables } = read
  const sql = 'SELECT earliest, latest FROM collections WHERE name = ?'
  const times = database.get(sql, tables.shape.name)
  const bound = (value: unknown): bigint | undefined => (typeof value === 'bigint' ? value : undefined)
  return {
    tables,
    whole: createWholeRows(database, tables),
    spilled: isSpilled(database, tables),
    earliest: bound(times?.['earliest']),
    latest: bound(times?.['latest']),
    values: rowidValues(database, tables),
    postings: postingsOf(database, read),
  }
}
