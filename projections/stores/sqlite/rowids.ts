import type { Database } from './database.ts'
import {
  firstRow,
  firstRowOf,
  isOutermost,
  lastRow,
  lastRowOf,
  msOf,
  unknownValueIds,
  valueIdMax,
  type Tables,
} from './layout.ts'

/** The number of the next row of a time. `vals`: the values that its rowid is to tell, as JSON; undefined: none. */
export type NextRow = (timeNs: bigint, vals?: string) => bigint

/** Free rowids between two, ascending; undefined where none is left. */
function createFree(database: Database, { rows }: Tables) {
  const free = new Map<bigint, bigint>()
  const sql = `SELECT row FROM ${rows} WHERE row BETWEEN ? AND ? ORDER BY row DESC LIMIT 1`
  // Most of what comes is newer than all that is there, and need not be looked up.
  const newest = database.get(`SELECT max(row) AS row FROM ${rows}`)?.['row']
  const freeIn = (first: bigint, last: bigint): bigint => {
    if (typeof newest !== 'bigint' || first > newest) return first
    const highest = database.get(sql, first, last)?.['row']
    return typeof highest === 'bigint' ? highest + 1n : first
  }
  return (first: bigint, last: bigint): bigint | undefined => {
    const row = free.get(first) ?? freeIn(first, last)
    if (row > last) return undefined
    free.set(first, row + 1n)
    return row
  }
}
type Free = ReturnType<typeof createFree>

/** Rowids of a millisecond; where one is full those of the next towards 1970, and the file says so. */
function createSpilling(database: Database, { shape }: Tables, freeIn: (ms: bigint) => bigint | undefined) {
  /** Where those of a full millisecond go by now. */
  const ends = new Map<bigint, bigint>()
  return (own: bigint): bigint => {
    for (let ms = ends.get(own) ?? own; ;) {
      const row = freeIn(ms)
      if (row !== undefined) return row
      if (ends.size === 0) database.run('UPDATE collections SET spilled = 1 WHERE name = ?', shape.name)
      ms += own > 0n ? -1n : 1n
      ends.set(own, ms)
    }
  }
}

/** So many ids the same values may have: what has one millisecond for all of its rows leaves ids to others. */
const idsOfValuesMax = 16

/**
 * The ids of values: the first, and more of the same values where a millisecond has more rows of them than one id has room for. Undefined
 * where they have no more, or all are given away.
 */
function createValueIds(database: Database, values: string) {
  const known = new Map<string, number[]>()
  let last = Number(database.get(`SELECT max(id) AS id FROM ${values}`)?.['id'] ?? unknownValueIds - 1)
  const read = (vals: string): number[] =>
    database.all(`SELECT id FROM ${values} WHERE vals = ? ORDER BY id`, vals).map(({ id }) => Number(id))
  return (vals: string, at: number): number | undefined => {
    const ids = known.get(vals) ?? read(vals)
    known.set(vals, ids)
    if (at >= ids.length && at < idsOfValuesMax && last < valueIdMax) {
      database.run(`INSERT INTO ${values} (id, vals) VALUES (?, ?)`, ++last, vals)
      ids.push(last)
    }
    return ids[at]
  }
}

function createValueRows(database: Database, tables: Tables, values: string, freeOf: Free): NextRow {
  const idOf = createValueIds(database, values)
  /** Of a millisecond and values, or of one whose values are not told: which of its ids has room. */
  const current = new Map<string, number>()
  const freeUnknown = (ms: bigint): bigint | undefined => {
    for (let id = current.get(`${ms}`) ?? 0; id < unknownValueIds; id++) {
      current.set(`${ms}`, id)
      const row = freeOf(firstRowOf(ms, id), lastRowOf(ms, id))
      if (row !== undefined) return row
    }
    return undefined
  }
  const spilling = createSpilling(database, tables, freeUnknown)
  return (timeNs, vals) => {
    const ms = msOf(timeNs)
    // All times beyond share the outermost millisecond, so a rowid does not tell theirs.
    if (vals === undefined || isOutermost(ms)) return spilling(ms)
    const name = `${ms} ${vals}`
    for (let at = current.get(name) ?? 0; ; at++) {
      current.set(name, at)
      const id = idOf(vals, at)
      if (id === undefined) return spilling(ms)
      const row = freeOf(firstRowOf(ms, id), lastRowOf(ms, id))
      if (row !== undefined) return row
    }
  }
}

/** Gives the rows of a batch their numbers (layout.ts). */
export function createRowids(database: Database, tables: Tables): NextRow {
  const freeOf = createFree(database, tables)
  if (tables.together !== undefined) return createValueRows(database, tables, tables.together.values, freeOf)
  const spilling = createSpilling(database, tables, (ms) => freeOf(firstRow(ms), lastRow(ms)))
  return (timeNs) => spilling(msOf(timeNs))
}
