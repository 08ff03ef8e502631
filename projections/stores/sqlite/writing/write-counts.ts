import { stepsBelow } from '#src/lib/int64.ts'
import type { Database } from '../database.ts'
import { finestNsOf, grainsNs, minuteNs, singleValues, untoldGrain, type Tables } from '../layout.ts'
import { isToldId, valueIdOf } from '../rowid-parts.ts'

/**
 * The change in the number of rows of one slice of time with the same values. `slice`: its number, by the finest grain; `texts`: of each counted field
 * (layout.ts: formatKeywords).
 */
type Change = { readonly slice: number; readonly texts: readonly unknown[]; readonly valueId: number; by: number }

/** The number of the slice that a time is in. */
const sliceOf = (timeNs: bigint, grainNs: bigint): number => Number(stepsBelow(timeNs, grainNs))
/** The number of the longer slice that a slice of the finest grain is in. */
const longerSlice = (slice: number, finestNs: bigint, grainNs: bigint): number =>
  Math.floor(slice / Number(grainNs / finestNs))

/** Sums by name. `of`: what a sum is about. */
function createSums<Of>() {
  const sums = new Map<string, { of: Of; by: number }>()
  return {
    add(name: string, of: Of, by: number): void {
      const known = sums.get(name)
      if (known === undefined) sums.set(name, { of, by })
      else known.by += by
    },
    all: () => [...sums.values()].filter(({ by }) => by !== 0),
  }
}

type MinuteCount = Readonly<{ field: string; minute: number; value: string }>

function writeMinutes(database: Database, tables: Tables, changes: readonly Change[]): void {
  const { counted, minutes } = tables
  const finestNs = finestNsOf(tables)
  const sums = createSums<MinuteCount>()
  for (const { slice, texts, by } of changes) {
    const minute = longerSlice(slice, finestNs, minuteNs)
    for (const [at, field] of counted.entries()) {
      for (const [value, times] of singleValues(texts[at], by)) {
        sums.add(`${field} ${minute} ${value}`, { field, minute, value }, times)
      }
    }
  }
  const sql = `INSERT INTO ${minutes} (field, minute, value, count) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`
  for (const { of, by } of sums.all()) database.run(sql, of.field, BigInt(of.minute), of.value, BigInt(by))
}

type SliceCount = Readonly<{ grain: bigint; slice: number; id: number }>

function writeTogether(database: Database, table: string, finestNs: bigint, changes: readonly Change[]): void {
  const sums = createSums<SliceCount>()
  const add = (grain: bigint, slice: number, id: number, by: number): void =>
    sums.add(`${grain} ${slice} ${id}`, { grain, slice, id }, by)
  for (const { slice, valueId, by } of changes) {
    if (isToldId(valueId)) for (const grain of grainsNs) add(grain, longerSlice(slice, finestNs, grain), valueId, by)
    else add(untoldGrain, longerSlice(slice, finestNs, minuteNs), 0, by)
  }
  const sql = `INSERT INTO ${table} (grain, slice, id, count) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`
  for (const { of, by } of sums.all()) database.run(sql, of.grain, BigInt(of.slice), BigInt(of.id), BigInt(by))
}

/**
 * Sums up what a batch changes in the kept counts: first by the finest grain and all values together, because a row mostly has the same values before
 * and after a batch.
 */
export function createCounts(database: Database, tables: Tables) {
  const { counted, together } = tables
  const finestNs = finestNsOf(tables)
  /** By slice, then by the id of the values or by the values. */
  const changes = new Map<number, Map<number | string, Change>>()
  return {
    /** `texts`: of each counted field; undefined if the row is not counted. */
    add(timeNs: bigint, row: bigint, texts: readonly unknown[] | undefined, by: 1 | -1): void {
      if (counted.length === 0 || texts === undefined) return
      const slice = sliceOf(timeNs, finestNs)
      const valueId = together === undefined ? 0 : valueIdOf(row)
      const ofSlice = changes.get(slice) ?? new Map<number | string, Change>()
      const name = isToldId(valueId) ? valueId : JSON.stringify(texts)
      const known = ofSlice.get(name)
      if (known !== undefined) known.by += by
      else changes.set(slice, ofSlice.set(name, { slice, texts, valueId, by }))
    },
    write(): void {
      const all = [...changes.values()].flatMap((ofSlice) => [...ofSlice.values()]).filter(({ by }) => by !== 0)
      writeMinutes(database, tables, all)
      if (together !== undefined) writeTogether(database, together.counts, finestNs, all)
    },
  }
}
export type Counts = ReturnType<typeof createCounts>
