import type { Database } from '../database.ts'
import {
  firstRow,
  firstRowOf,
  isOutermost,
  lastRow,
  lastRowFrom,
  msOf,
  unknownValueIds,
  valueIdMax,
} from '../rowid-parts.ts'
import type { Tables } from '../layout.ts'

/** The next free rowid for a time. `vals`: the values to encode in it, as JSON; undefined: none. */
export type NextRow = (timeNs: bigint, vals?: string) => bigint

/** Free rowids of a range, ascending; undefined if none is left. */
function createFree(database: Database, { rows }: Tables) {
  const free = new Map<bigint, bigint>()
  const sql = `SELECT row FROM ${rows} WHERE row BETWEEN ? AND ? ORDER BY row DESC LIMIT 1`
  // Most new rows are newer than all stored ones, and need no look-up.
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

/** Rowids of a millisecond. If it is full, those of the next one towards 1970; the file is then marked as spilled. */
function createSpilling(database: Database, { shape }: Tables, freeIn: (ms: bigint) => bigint | undefined) {
  /** Where rows of a full millisecond go now. */
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

/** The most ids of the same values: if all rows have one millisecond, others still get ids. */
const idsOfValuesMax = 16

/**
 * The ids of values: one, and more if a millisecond has more rows of these values than an id has room for. Undefined if the values may have no more
 * ids, or none are left.
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
  const freeOfId = (ms: bigint, id: number): bigint | undefined => {
    const first = firstRowOf(ms, id)
    return freeOf(first, lastRowFrom(first))
  }
  /** Of rows without encoded values, by millisecond: the id that has room. */
  const current = new Map<bigint, number>()
  const freeUnknown = (ms: bigint): bigint | undefined => {
    for (let id = current.get(ms) ?? 0; id < unknownValueIds; id++) {
      current.set(ms, id)
      const row = freeOfId(ms, id)
      if (row !== undefined) return row
    }
    return undefined
  }
  /** Of the values of the last millisecond, as rows come in order of time: which of their ids has room, if it is not the first. */
  const beyondFirst = new Map<string, number>()
  let lastMs: bigint | undefined
  const spilling = createSpilling(database, tables, freeUnknown)
  return (timeNs, vals) => {
    const ms = msOf(timeNs)
    // The outermost millisecond is shared by all times beyond, so its rowids do not tell the time.
    if (vals === undefined || isOutermost(ms)) return spilling(ms)
    if (ms !== lastMs && beyondFirst.size > 0) beyondFirst.clear()
    lastMs = ms
    for (let at = beyondFirst.get(vals) ?? 0; ; at++) {
      if (at > 0) beyondFirst.set(vals, at)
      const id = idOf(vals, at)
      if (id === undefined) return spilling(ms)
      const row = freeOfId(ms, id)
      if (row !== undefined) return row
    }
  }
}

/** Assigns rowids to the rows of a batch (rowid-parts.ts). */
export function createRowids(database: Database, tables: Tables): NextRow {
  const freeOf = createFree(database, tables)
  if (tables.together !== undefined) return createValueRows(database, tables, tables.together.values, freeOf)
  const spilling = createSpilling(database, tables, (ms) => freeOf(firstRow(ms), lastRow(ms)))
  return (timeNs) => spilling(msOf(timeNs))
}
