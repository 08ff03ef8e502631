import { floorTo } from '../../row.ts'
import type { Database } from '../database.ts'
import {
  beyondFirst,
  finestNsOf,
  formatKeywords,
  grainsNs,
  minuteNs,
  noValue,
  parseKeywords,
  untoldGrain,
  type Tables,
} from '../layout.ts'
import { isToldId, valueIdOf } from '../rowid-parts.ts'

/** The change in the number of rows of one slice of time with the same values. `texts`: of each counted field (layout.ts: formatKeywords). */
type Change = { readonly startNs: bigint; readonly texts: readonly unknown[]; readonly valueId: number; by: number }

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

type MinuteCount = Readonly<{ field: string; minute: bigint; value: string }>

/** Each value counts separately: there are few values, while nearly every row may have its own set of them. */
function singleValues(text: unknown, by: number): readonly (readonly [value: string, by: number])[] {
  const values = parseKeywords(text)
  if (values.length < 2) return [[typeof text === 'string' ? text : noValue, by]]
  const single = values.map((value) => [formatKeywords([value]) ?? noValue, by] as const)
  return [...single, [beyondFirst, by * (values.length - 1)]]
}

function writeMinutes(database: Database, { counted, minutes }: Tables, changes: readonly Change[]): void {
  const sums = createSums<MinuteCount>()
  for (const { startNs, texts, by } of changes) {
    const minute = floorTo(startNs, minuteNs) / minuteNs
    for (const [at, field] of counted.entries()) {
      for (const [value, times] of singleValues(texts[at], by)) {
        sums.add(`${field} ${minute} ${value}`, { field, minute, value }, times)
      }
    }
  }
  const sql = `INSERT INTO ${minutes} (field, minute, value, count) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`
  for (const { of, by } of sums.all()) database.run(sql, of.field, of.minute, of.value, BigInt(by))
}

type SliceCount = Readonly<{ grain: bigint; slice: bigint; id: number }>

function writeTogether(database: Database, table: string, changes: readonly Change[]): void {
  const sums = createSums<SliceCount>()
  const add = (grain: bigint, slice: bigint, id: number, by: number): void =>
    sums.add(`${grain} ${slice} ${id}`, { grain, slice, id }, by)
  for (const { startNs, valueId, by } of changes) {
    if (isToldId(valueId)) for (const grain of grainsNs) add(grain, floorTo(startNs, grain) / grain, valueId, by)
    else add(untoldGrain, floorTo(startNs, minuteNs) / minuteNs, 0, by)
  }
  const sql = `INSERT INTO ${table} (grain, slice, id, count) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`
  for (const { of, by } of sums.all()) database.run(sql, of.grain, of.slice, BigInt(of.id), BigInt(by))
}

/**
 * Sums up what a batch changes in the kept counts: first by the finest grain and all values together, because a row mostly has the same values before
 * and after a batch.
 */
export function createCounts(database: Database, tables: Tables) {
  const { counted, together } = tables
  const finestNs = finestNsOf(tables)
  const changes = new Map<string, Change>()
  return {
    /** `texts`: of each counted field; undefined if the row is not counted. */
    add(timeNs: bigint, row: bigint, texts: readonly unknown[] | undefined, by: 1 | -1): void {
      if (counted.length === 0 || texts === undefined) return
      const startNs = floorTo(timeNs, finestNs)
      const valueId = together === undefined ? 0 : valueIdOf(row)
      const name = `${startNs} ${isToldId(valueId) ? valueId : JSON.stringify(texts)}`
      const known = changes.get(name)
      if (known === undefined) changes.set(name, { startNs, texts, valueId, by })
      else known.by += by
    },
    write(): void {
      const all = [...changes.values()].filter(({ by }) => by !== 0)
      writeMinutes(database, tables, all)
      if (together !== undefined) writeTogether(database, together.counts, all)
    },
  }
}
export type Counts = ReturnType<typeof createCounts>
