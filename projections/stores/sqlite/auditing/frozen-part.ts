import type { Position } from '#src/events/envelope.ts'
import type { Digest, Fingerprint, FrozenPart, SearchItem } from '../../../index-audit.ts'
import type { Collection, DocumentId, Entry } from '../../../projection.ts'
import { createDigester, createOrderedDigester, fingerprintOf, noSearchItems } from '../../digest.ts'
import { compareText } from '../../row.ts'
import { createWholeRows, type WholeRows } from '../bodies.ts'
import type { Columns, Database } from '../database.ts'
import { openIfThere } from '../if-there.ts'
import { layoutOf, type Tables } from '../layout.ts'
import { msOf, msOfRow } from '../rowid-parts.ts'
import { rowidValues, type RowidValues } from '../reading/told-values.ts'
import { entryOf, isSpilled, positionOf, readEntry } from '../stored-rows.ts'
import { wrongTrees } from './check-trees.ts'
import { tellsValues, wrongCounts } from './check-values.ts'
import { createPostings, createSummedPostings, type Postings } from './postings.ts'

/** A collection as it is read. `collection`: to make the postings of its entries, where the file has sums over them only. */
export type Read = Readonly<{ tables: Tables; collection?: Collection | undefined }>

/** A collection in a file that is read whole. `earliest`, `latest`: the range of times that the file claims for its rows. */
type Held = Readonly<{
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
function textOf(columns: Columns, held: Held): string {
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
function isInPlace({ row, time }: Columns, { spilled, earliest, latest }: Held): boolean {
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

/** In order of their names: 'count …', 'damage …', 'minute …'. */
function* countsOf(database: Database, held: Held): Generator<SearchItem> {
  yield* wrongCounts(database, held)
  yield* held.postings?.damages() ?? []
  yield* wrongTrees(database, held.tables)
  yield* minutesOf(database, held.tables)
}

/** In order of their names: 'count …', 'damage …', 'minute …', 'term …'. */
function* searchItemsOf(database: Database, held: Held): Generator<SearchItem> {
  yield* countsOf(database, held)
  yield* held.postings?.terms() ?? []
}

function digestOf(database: Database, collection: string, held: Held): Digest {
  const [content, search] = [createDigester(), createOrderedDigester()]
  let entries = 0
  for (const columns of held.whole.all()) {
    entries++
    content.add(textOf(columns, held))
  }
  let items = 0
  for (const { name, value } of countsOf(database, held)) {
    items++
    search.add(`${name}\n${value}`)
  }
  const postings = held.postings?.digest() ?? ''
  const isEmpty = items === 0 && postings === ''
  return { collection, entries, content: content.value(), search: isEmpty ? '' : `${search.value()} ${postings}` }
}

const printOf = (columns: Columns, held: Held): Fingerprint => ({
  id: String(columns['id']),
  hash: fingerprintOf(textOf(columns, held)),
  position: Number(columns['position']),
})

/** A row and its body, by id; the first of several. */
function columnsOf(database: Database, { tables, whole }: Held, id: DocumentId): Columns | undefined {
  const row = database.get(`SELECT row FROM ${tables.rows} WHERE id = ? ORDER BY row`, id)?.['row']
  return typeof row === 'bigint' ? whole.get(row) : undefined
}

function* fingerprintsOf(database: Database, held: Held): Generator<Fingerprint> {
  for (const { row } of database.iterate(`SELECT row FROM ${held.tables.rows} ORDER BY id, row`)) {
    const columns = held.whole.get(row as bigint)
    if (columns !== undefined) yield printOf(columns, held)
  }
}

/** Rowids in the order of ids. Ids of records begin with their time, so only those of one millisecond need sorting. */
function* rowsById(database: Database, { tables, spilled }: Held): Generator<bigint> {
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

function* entriesOf(database: Database, held: Held, day: string): Generator<Entry> {
  for (const row of rowsById(database, held)) {
    const columns = held.whole.get(row)
    if (columns !== undefined) yield entryOf(columns, columns['body'], held.tables, day)
  }
}

function storedOf(database: Database, held: Held, id: DocumentId): Readonly<Record<string, string>> | undefined {
  const columns = columnsOf(database, held, id)
  if (columns === undefined) return undefined
  const seen = Object.entries(columns).filter(([name]) => !held.tables.sums.includes(name))
  return Object.fromEntries(seen.map(([name, value]) => [name, shown(value)]))
}

function postingsOf(database: Database, { tables, collection }: Read): Postings | undefined {
  if (tables.terms !== undefined) return createPostings(database, tables, tables.terms)
  if (tables.sums.length === 0 || collection === undefined) return undefined
  return createSummedPostings(database, tables, collection)
}

function holdOf(database: Database, read: Read): Held {
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

const nothing: FrozenPart = {
  position: 0,
  exact: true,
  async *entries() {},
  entry: async () => undefined,
  digests: async () => [],
  async *fingerprints() {},
  fingerprint: async () => undefined,
  ...noSearchItems,
  stored: async () => undefined,
  release: async () => {},
}

/** Begins a read transaction, and returns the file's position; undefined if the file is just being created. */
function begin(database: Database): Position | undefined {
  database.exec('BEGIN')
  return layoutOf(database) === 0n ? undefined : positionOf(database)
}

/** A read transaction on a file, until it is released. `open`: returns a connection that may create temporary tables. */
export function freezeFile(
  { path, day }: Readonly<{ path: string; day: string }>,
  collections: readonly Read[],
  open: (path: string) => Database,
): FrozenPart {
  const opened = openIfThere(path, open, begin)
  if (opened === undefined) return nothing
  const { database, found: position } = opened
  const all = new Map(collections.map((read) => [read.tables.shape.name, read]))
  const known = new Map<string, Held>()
  const heldOf = (name: string): Held | undefined => {
    const read = all.get(name)
    const held = known.get(name) ?? (read && holdOf(database, read))
    if (held !== undefined) known.set(name, held)
    return held
  }
  const digests = (): readonly Digest[] =>
    [...all.keys()].flatMap((name) => {
      const held = heldOf(name)
      const digest = held && digestOf(database, name, held)
      return digest === undefined || (digest.entries === 0 && digest.search === '') ? [] : [digest]
    })
  return {
    position,
    exact: true,
    async *entries(name) {
      const held = heldOf(name)
      if (held !== undefined) yield* entriesOf(database, held, day)
    },
    async entry(name, id) {
      const held = heldOf(name)
      return held && readEntry(database, held.tables, id, day)
    },
    digests: async () => digests(),
    async *fingerprints(name) {
      const held = heldOf(name)
      if (held !== undefined) yield* fingerprintsOf(database, held)
    },
    async fingerprint(name, id) {
      const held = heldOf(name)
      const columns = held && columnsOf(database, held, id)
      return held && columns && printOf(columns, held)
    },
    async *searchItems(name) {
      const held = heldOf(name)
      if (held !== undefined) yield* searchItemsOf(database, held)
    },
    async *entriesOf(name, item) {
      yield* heldOf(name)?.postings?.entriesOf(item) ?? []
    },
    async stored(name, id) {
      const held = heldOf(name)
      return held && storedOf(database, held, id)
    },
    async release() {
      database.exec('COMMIT')
      database.close()
    },
  }
}
