import { inflateSync } from 'node:zlib'
import { throwDamage, type Columns, type Database } from './database.ts'
import { layoutOf, packedLayoutVersion, type Tables } from './layout.ts'

/** Rows that are packed together (pack-bodies.ts): a line for each, with how far it is from the last one, a blank and its body. */
type Part = Readonly<{ first: bigint; last: bigint; bodies: ReadonlyMap<bigint, string> }>

export const lineOf = (last: bigint, row: bigint, body: string): string => `${last - row} ${body}\n`

function partOf(last: bigint, text: string): Part {
  const bodies = new Map<bigint, string>()
  for (const line of text.split('\n')) {
    const blank = line.indexOf(' ')
    if (blank > 0) bodies.set(last - BigInt(line.slice(0, blank)), line.slice(blank + 1))
  }
  const [first = last] = bodies.keys()
  return { first, last, bodies }
}

function textOfPart(database: Database, last: bigint, bytes: Uint8Array): string {
  try {
    return inflateSync(bytes).toString()
  } catch (error) {
    return throwDamage(database.path, `the bodies of rows up to ${last} cannot be unpacked: ${String(error)}`)
  }
}

/** The part that holds a row, if any does. */
function readPart(database: Database, { packed }: Tables, row: bigint): Part | undefined {
  if (layoutOf(database) < packedLayoutVersion) return undefined
  const found = database.get(`SELECT last, part FROM ${packed} WHERE last >= ? ORDER BY last LIMIT 1`, row)
  if (!(found?.['part'] instanceof Uint8Array)) return undefined
  const last = found['last'] as bigint
  return partOf(last, textOfPart(database, last, found['part']))
}

/**
 * The packed bodies of a file, by row; undefined where a row has none. It remembers the part that it has read last: mostly, the next row is in it too. So
 * use it for one moment of the file only.
 */
export function createUnpacker(database: Database, tables: Tables): (row: bigint) => string | undefined {
  let part: Part | undefined
  return (row) => {
    if (part === undefined || row < part.first || row > part.last) part = readPart(database, tables, row)
    return part?.bodies.get(row)
  }
}

/** The bodies of these rows, in one query: a query for each would cost more than reading it. */
export function readBodies(database: Database, tables: Tables, rows: readonly bigint[]): ReadonlyMap<bigint, unknown> {
  const sql = `SELECT j.value AS row, b.body FROM json_each(?) j LEFT JOIN ${tables.bodies} b ON b.row = j.value`
  const unpack = createUnpacker(database, tables)
  const found = database.all(sql, `[${rows.join(',')}]`)
  return new Map(found.map(({ row, body }) => [row as bigint, body ?? unpack(row as bigint)]))
}

/** The rows of a collection, each with its body. */
export type WholeRows = Readonly<{
  /** In the order of rowids. */
  all(): Generator<Columns>
  get(row: bigint): Columns | undefined
}>

/** For one moment of the file. */
export function createWholeRows(database: Database, tables: Tables): WholeRows {
  const { rows, bodies } = tables
  const unpack = createUnpacker(database, tables)
  const sql = `SELECT r.*, b.body FROM ${rows} r LEFT JOIN ${bodies} b USING (row)`
  const whole = (columns: Columns): Columns => {
    const body = columns['body'] ?? unpack(columns['row'] as bigint)
    return body === undefined ? columns : { ...columns, body }
  }
  return {
    *all() {
      for (const columns of database.iterate(`${sql} ORDER BY r.row`)) yield whole(columns)
    },
    get(row) {
      const columns = database.get(`${sql} WHERE r.row = ?`, row)
      return columns && whole(columns)
    },
  }
}
