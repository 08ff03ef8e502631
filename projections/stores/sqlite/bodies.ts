import { inflateSync } from 'node:zlib'
import type { Columns, Database } from './database.ts'
import { throwDamage } from './failure.ts'
import { layoutOf, packedLayoutVersion, type Tables } from './layout.ts'

/** Rows that are packed together (pack-bodies.ts): the lines of all of them. */
type Part = Readonly<{ first: bigint; last: bigint; lines: string }>

/** What a line begins with: how far its row is from the last one. Bodies have no line breaks, being JSON as it is written here. */
const beginning = (last: bigint, row: bigint): string => `\n${last - row} `
export const lineOf = (last: bigint, row: bigint, body: string): string => beginning(last, row) + body

function bodyIn({ last, lines }: Part, row: bigint): string | undefined {
  const begins = beginning(last, row)
  const at = lines.indexOf(begins)
  if (at < 0) return undefined
  const from = at + begins.length
  const to = lines.indexOf('\n', from)
  return lines.slice(from, to < 0 ? undefined : to)
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
  const lines = textOfPart(database, last, found['part'])
  const [, furthest = '0'] = /^\n(\d+) /.exec(lines) ?? []
  return { first: last - BigInt(furthest), last, lines }
}

/**
 * The packed bodies of a file, by row; undefined where a row has none. It remembers the part that it has read last: mostly, the next row is in it too. So
 * use it for one moment of the file only.
 */
function createUnpacker(database: Database, tables: Tables): (row: bigint) => string | undefined {
  let part: Part | undefined
  return (row) => {
    if (part === undefined || row < part.first || row > part.last) part = readPart(database, tables, row)
    return part && bodyIn(part, row)
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
