import { floorTo } from '../row.ts'
import type { Database } from './database.ts'
import { beyondFirst, formatKeywords, grainsNs, minuteNs, noValue, parseKeywords, type Tables } from './layout.ts'

/** What rows of one slice of time that have the same values come to. `texts`: of each counted field (layout.ts: formatKeywords). */
type Change = { readonly startNs: bigint; readonly texts: readonly unknown[]; by: number }

/** Whether a row is among those of which counts are kept. `numberOf`: its number of a field. */
export function isCounted({ shape: { countedWhere } }: Tables, numberOf: (field: string) => unknown): boolean {
  if (countedWhere === undefined) return true
  const number = numberOf(countedWhere.field)
  return typeof number === 'bigint' && (countedWhere.from === undefined || number >= BigInt(countedWhere.from))
}

/** Adds up numbers under what they are of; `of` tells them apart. */
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

/** Each value counts by itself: there are few, where nearly every row may have its own set of them. */
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

function writeTogether(database: Database, table: string, grainNs: bigint, changes: readonly Change[]): void {
  const sums = createSums<Readonly<{ slice: bigint; values: string }>>()
  for (const { startNs, texts, by } of changes) {
    const slice = floorTo(startNs, grainNs) / grainNs
    const values = JSON.stringify(texts)
    sums.add(`${slice} ${values}`, { slice, values }, by)
  }
  const sql = `INSERT INTO ${table} (grain, slice, vals, count) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`
  for (const { of, by } of sums.all()) database.run(sql, grainNs, of.slice, of.values, BigInt(by))
}

/**
 * Adds up what a batch does to the counts that are kept: at first by the finest grain and all values together, since what a row has
 * before and after a batch is mostly the same.
 */
export function createCounts(database: Database, tables: Tables) {
  const { counted, together } = tables
  const finestNs = (together === undefined ? undefined : grainsNs.at(-1)) ?? minuteNs
  const changes = new Map<string, Change>()
  return {
    /** `texts`: of each counted field; undefined of a row that is not counted. */
    add(timeNs: bigint, texts: readonly unknown[] | undefined, by: 1 | -1): void {
      if (counted.length === 0 || texts === undefined) return
      const startNs = floorTo(timeNs, finestNs)
      const name = `${startNs} ${JSON.stringify(texts)}`
      const known = changes.get(name)
      if (known === undefined) changes.set(name, { startNs, texts, by })
      else known.by += by
    },
    write(): void {
      const all = [...changes.values()].filter(({ by }) => by !== 0)
      writeMinutes(database, tables, all)
      if (together === undefined) return
      for (const grainNs of grainsNs) writeTogether(database, together, grainNs, all)
    },
  }
}
export type Counts = ReturnType<typeof createCounts>
