import type { Position } from '#src/events/envelope.ts'
import { clampInt64, floorTo } from '#src/lib/int64.ts'
import type { Filter, IndexQuery, Selection, SortKey } from '../../../index-store.ts'
import { lookSql, type Columns, type Database, type Value } from '../database.ts'
import { firstRow, isOutermost, lastRow, msOf } from '../rowid-parts.ts'
import { numberColumn, type Tables } from '../layout.ts'
import { compile, toSql, type Condition, type Sql } from './compile.ts'
import type { Expansion } from './expand.ts'
import { createTallies, type From, type Tallies } from './tally.ts'

/** One collection in one file, as readers see it. */
export type DayCollection = Readonly<{
  day: string
  database: Database
  tables: Tables
  /** Times of the first and last record, ns. */
  earliest: bigint
  latest: bigint
  spilled: boolean
  /** Filters compiled for this file, during one read transaction. */
  compiled: Compiled
  /** Results of walks of this file, during the same transaction. */
  tallies: Tallies
}>

/** The same for one question, whose patterns and ranges `expansion` limits. */
export type AskedDay = DayCollection & Readonly<{ expansion: Expansion }>

/** The collections of which a file holds anything. */
export function readCollections(database: Database): ReadonlyMap<string, Omit<DayCollection, 'day' | 'tables'>> {
  const rows = database.all('SELECT name, earliest, latest, spilled FROM collections')
  return new Map(
    rows.flatMap(({ name, earliest, latest, spilled }) => {
      if (typeof earliest !== 'bigint' || typeof latest !== 'bigint') return []
      const asked = { compiled: new Map(), tallies: createTallies(database) }
      return [[String(name), { database, earliest, latest, spilled: spilled === 1n, ...asked }]]
    }),
  )
}

type Compiled = Map<Filter, () => Condition>

/** Compiles a filter once per reading, and remembers a failure too: expanding a pattern may take seconds. */
function compileOnce(filter: Filter, day: AskedDay): Condition {
  const { compiled } = day
  const known = compiled.get(filter)
  if (known !== undefined) return known()
  try {
    const condition = compile(filter, day, (part) => compileOnce(part, day))
    compiled.set(filter, () => condition)
    return condition
  } catch (error) {
    compiled.set(filter, () => {
      throw error
    })
    throw error
  }
}

/** From a time inclusive, to a time exclusive; undefined: open. */
export type TimeRange = Pick<Selection, 'fromNs' | 'toNs'>

export const mayHold = ({ earliest, latest }: DayCollection, { fromNs, toNs }: TimeRange): boolean =>
  (fromNs === undefined || latest >= fromNs) && (toNs === undefined || earliest < toNs)

const isWholeMs = (timeNs: bigint): boolean => floorTo(timeNs, 1_000_000n) === timeNs && !isOutermost(msOf(timeNs))

/** A time range as bounds of the rowid, and the rest of it as conditions on the row. */
type Bounds = Readonly<{ rows: readonly (readonly ['>=' | '<=', bigint])[]; rest: Sql }>

function boundsOf({ fromNs, toNs }: TimeRange, spilled: boolean): Bounds {
  const rows: ['>=' | '<=', bigint][] = []
  const rest: string[] = []
  const values: Value[] = []
  if (fromNs !== undefined) {
    if (!spilled) rows.push(['>=', firstRow(msOf(fromNs))])
    if (spilled || !isWholeMs(fromNs)) {
      rest.push('r.time >= ?')
      values.push(clampInt64(fromNs))
    }
  }
  if (toNs !== undefined) {
    if (!spilled) rows.push(['<=', lastRow(msOf(toNs - 1n))])
    if (spilled || !isWholeMs(toNs)) {
      rest.push('r.time <= ?')
      values.push(clampInt64(toNs - 1n))
    }
  }
  return { rows, rest: { sql: rest.join(' AND '), values } }
}

/** For each walk, of rows or of postings. Before other conditions: what does not meet the first is not asked for the next. */
const rowBounds = (bounds: Bounds, column: string): Sql => ({
  sql: `${bounds.rows.map(([operator]) => ` AND ${column} ${operator} ?`).join('')} AND ${lookSql(column)}`,
  values: bounds.rows.map(([, row]) => row),
})

/** Whether a day has a row in a range. One record with the time of another day spreads `earliest` and `latest` over the days between. */
export function holdsAny({ tables, database, spilled }: DayCollection, range: TimeRange): boolean {
  const bounds = boundsOf(range, spilled)
  const rows = rowBounds(bounds, 'r.row')
  const rest = bounds.rest.sql === '' ? '' : ` AND ${bounds.rest.sql}`
  const sql = `SELECT 1 FROM ${tables.rows} r WHERE 1${rows.sql}${rest} LIMIT 1`
  return database.get(sql, ...rows.values, ...bounds.rest.values) !== undefined
}

function positionSql(upTo: Position | undefined, since: Position | undefined): Sql {
  const parts: string[] = []
  const values: Value[] = []
  if (upTo !== undefined) {
    parts.push('r.position <= ?')
    values.push(upTo)
  }
  if (since !== undefined) {
    parts.push('r.position > ?')
    values.push(since)
  }
  return { sql: parts.join(' AND '), values }
}

const joinAnd = (parts: readonly Sql[]): Sql => {
  const said = parts.filter(({ sql }) => sql !== '')
  return { sql: said.map(({ sql }) => sql).join(' AND '), values: said.flatMap(({ values }) => values) }
}

/** The part of a condition that the term index can drive, and the rest of it. */
function drivenBy(condition: Condition): Readonly<{ match: string; rest: Condition }> | undefined {
  if (condition.kind === 'terms') return { match: condition.match, rest: { kind: 'all' } }
  if (condition.kind !== 'and') return undefined
  const { of } = condition
  const driver = of.find(({ kind }) => kind === 'terms')
  if (driver?.kind !== 'terms') return undefined
  return { match: driver.match, rest: { kind: 'and', of: of.filter((part) => part !== driver) } }
}

/** Whether the term index can find the rows that meet a filter. */
export function isDriven(day: AskedDay, filter: Filter): boolean {
  const condition = compileOnce(filter, day)
  return condition.kind === 'none' || drivenBy(condition) !== undefined
}

/**
 * The rows of a selection. If the term index can answer a part of the filter, it drives the query, in rowid order; otherwise the rows do.
 * `byPosition`: the walk goes by position, so terms are only looked up.
 */
export function fromSelection(
  day: AskedDay,
  selection: Selection,
  use: Readonly<{ columns: boolean; byPosition?: boolean }>,
): From | undefined {
  const { tables, spilled } = day
  const condition = compileOnce(selection.filter, day)
  if (condition.kind === 'none') return undefined
  const bounds = boundsOf(selection, spilled)
  const position = positionSql(selection.upTo, selection.since)
  const driven = use.byPosition === true ? undefined : drivenBy(condition)
  if (driven === undefined) {
    const where = toSql(condition, tables, rowBounds(bounds, 'f.rowid'))
    const all = joinAnd([where, bounds.rest, position])
    const rows = rowBounds(bounds, 'r.row')
    const sql = `FROM ${tables.rows} r WHERE 1${rows.sql} AND ${all.sql}`
    return { sql, values: [...rows.values, ...all.values], rowid: 'r.row' }
  }
  const rest =
    driven.rest.kind === 'all' ? { sql: '', values: [] } : toSql(driven.rest, tables, rowBounds(bounds, 'f.rowid'))
  const all = joinAnd([rest, bounds.rest, position])
  const rows = rowBounds(bounds, 'f.rowid')
  // CROSS JOIN forces the planner to use the term index first.
  const join = use.columns || all.sql !== '' ? ` CROSS JOIN ${tables.rows} r ON r.row = f.rowid` : ''
  const sql = `FROM ${tables.terms} f${join} WHERE ${tables.terms} MATCH ?${rows.sql}${all.sql === '' ? '' : ` AND ${all.sql}`}`
  return { sql, values: [driven.match, ...rows.values, ...all.values], rowid: 'f.rowid' }
}

/** A row as it stands in an order, before its body is read. */
export type Place = Readonly<{ row: bigint; timeNs: bigint; position: Position; sort: SortKey }>

const placeOf = (columns: Columns, value: string): Place => ({
  row: columns['row'] as bigint,
  timeNs: columns['time'] as bigint,
  position: Number(columns['position']),
  sort: { value: columns[value] as bigint, id: String(columns['id']) },
})

export type Order = Pick<IndexQuery, 'orderBy' | 'direction' | 'after' | 'limit'>

/** The column of an order; undefined if the collection has none of that name. */
function orderColumn(tables: Tables, orderBy: string): string | undefined {
  if (orderBy === 'timeNs') return 'time'
  if (orderBy === 'position') return 'position'
  return tables.numbers.includes(orderBy) ? numberColumn(orderBy) : undefined
}

/** The first rows in the order of a column, sorted by SQLite, which keeps no more of them than these. */
export function* sortedRows(day: AskedDay, selection: Selection, order: Order): Generator<Place> {
  const column = orderColumn(day.tables, order.orderBy)
  const byPosition = order.orderBy === 'position' && day.tables.shape.kind === 'record'
  const from = fromSelection(day, selection, { columns: true, byPosition })
  if (from === undefined || column === undefined) return
  const { after, direction, limit } = order
  const beyond = direction === 'asc' ? '>' : '<'
  // Not as an OR: that is no bound of an index, so each page would read and sort all rows.
  const keyset = `(r.${column}, r.id) ${beyond} (?, ?)`
  const values = after === undefined ? [] : [clampInt64(after.value), after.id]
  const sql = `SELECT r.row, r.id, r.time, r.position, r.${column} AS value ${from.sql} AND r.${column} IS NOT NULL
    ${after === undefined ? '' : `AND ${keyset}`} ORDER BY r.${column} ${direction}, r.id ${direction} LIMIT ?`
  for (const columns of day.database.iterate(sql, ...from.values, ...values, limit)) yield placeOf(columns, 'value')
}

/** Rows in rowid order: by millisecond, in no order within it. */
export function* walkedRows(day: AskedDay, selection: Selection, direction: 'asc' | 'desc'): Generator<Place> {
  const from = fromSelection(day, selection, { columns: true })
  if (from === undefined) return
  const sql = `SELECT r.row, r.id, r.time, r.position ${from.sql} ORDER BY ${from.rowid} ${direction}`
  for (const columns of day.database.iterate(sql, ...from.values)) yield placeOf(columns, 'time')
}
