import { clampInt64, floorTo } from '../row.ts'
import { askedBeyond, countedSql } from './counted-where.ts'
import { fromSelection, type DayCollection, type Selected } from './day-query.ts'
import type { Expansion } from './expand.ts'
import {
  bucketSql,
  isToldId,
  keywordColumn,
  minuteNs,
  msSql,
  unknownValueIds,
  untoldGrain,
  valueIds,
  valueIdSql,
} from './layout.ts'
import { toldValues } from './told-values.ts'

export function countRows(day: DayCollection, selection: Selected, expansion: Expansion): number {
  const from = fromSelection(day, selection, expansion, { columns: false })
  if (from === undefined) return 0
  return Number(day.database.get(`SELECT count(*) AS n ${from.sql}`, ...from.values)?.['n'] ?? 0)
}

/** Texts of keyword fields (layout.ts: formatKeywords), in the order asked, and how many rows of a step have them. */
export type Count = Readonly<{ startNs: bigint; texts: readonly unknown[]; count: number }>

/** What to count by: keyword fields together, and time in steps; without a step all of it. */
export type By = Readonly<{ stepNs?: bigint | undefined; fields: readonly string[] }>

/** Counts in one walk, which is what costs. */
export function countBy(day: DayCollection, selection: Selected, by: By, expansion: Expansion): readonly Count[] {
  return rowidsTell(day, by) ? countByRowids(day, selection, by, expansion) : countByRows(day, selection, by, expansion)
}

const startOf = (bucket: unknown, stepNs: bigint | undefined): bigint => (bucket as bigint) * (stepNs ?? 1n)

function countByRows(
  day: DayCollection,
  selection: Selected,
  { stepNs, fields }: By,
  expansion: Expansion,
  where = '',
): readonly Count[] {
  const from = fromSelection(day, selection, expansion, { columns: true })
  if (from === undefined) return []
  const bucket = stepNs === undefined ? '0' : bucketSql('r.time', stepNs)
  const columns = fields.map((field) => (day.tables.keywords.includes(field) ? `r.${keywordColumn(field)}` : 'NULL'))
  const named = [bucket, ...columns].map((column, at) => `${column} AS c${at}`).join(', ')
  const groups = [bucket, ...columns].map((_, at) => at + 1).join(', ')
  const sql = `SELECT ${named}, count(*) AS n ${from.sql}${where} GROUP BY ${groups}`
  return day.database.all(sql, ...from.values).map((row) => ({
    startNs: startOf(row['c0'], stepNs),
    texts: fields.map((_, at) => row[`c${at + 1}`]),
    count: Number(row['n']),
  }))
}

/** Whether rowids alone tell what is asked for. */
const rowidsTell = ({ tables }: DayCollection, { fields }: By): boolean =>
  tables.together !== undefined && fields.every((field) => tables.counted.includes(field))

/**
 * From postings, or a walk, without the columns of rows: these are looked at for the few whose values their rowids do not tell. What has an
 * id is counted, so it need not be asked whether it is.
 */
function countByRowids(day: DayCollection, given: Selected, by: By, expansion: Expansion): readonly Count[] {
  const { database, tables } = day
  const { stepNs, fields } = by
  const beyond = askedBeyond(tables.shape, given.filter)
  const selection = beyond === undefined ? given : { ...given, filter: beyond }
  const from = fromSelection(day, selection, expansion, { columns: false })
  if (from === undefined) return []
  const bucket = stepNs === undefined ? '0' : `(${bucketSql(msSql(from.rowid), stepNs / 1_000_000n)})`
  // One number of both: SQLite sorts what it groups.
  const sql = `SELECT ${bucket} * ${valueIds} + ${valueIdSql(from.rowid)} AS step, count(*) AS n ${from.sql} GROUP BY 1`
  const told = toldValues(day)
  const places = fields.map((field) => tables.counted.indexOf(field))
  const counts: Count[] = []
  let isToldOfAll = true
  for (const { step, n } of database.all(sql, ...from.values)) {
    const id = Number(BigInt.asUintN(64, step as bigint) % valueIds)
    if (!isToldId(id)) {
      isToldOfAll = false
      continue
    }
    const texts = told.get(id)?.texts ?? []
    counts.push({
      startNs: startOf(floorTo(step as bigint, valueIds) / valueIds, stepNs),
      texts: places.map((place) => texts[place] ?? null),
      count: Number(n),
    })
  }
  if (isToldOfAll) return counts
  const isCounted = beyond === undefined ? '' : countedSql(tables.shape, 'r.')
  const where = ` AND ${valueIdSql(from.rowid)} < ${unknownValueIds}${isCounted}`
  return [...counts, ...countByRows(day, selection, by, expansion, where)]
}

/** Numbers of slices of time, from inclusive, to exclusive; undefined: open. */
export type SliceRange = Readonly<{ from: bigint | undefined; to: bigint | undefined }>

const sliceBounds = ({ from, to }: SliceRange): readonly [first: bigint, last: bigint] => [
  from ?? clampInt64(-(1n << 64n)),
  to === undefined ? clampInt64(1n << 64n) : to - 1n,
]

/** What a step counts of one value, or of values together. */
export type SliceCount = Readonly<{ startNs: bigint; value: string; count: number }>

/** Counts per minute by a field, in steps of so many. */
export function countedMinutes(
  { database, tables }: DayCollection,
  by: string,
  range: SliceRange,
  step: bigint,
): readonly SliceCount[] {
  const sql = `SELECT ${bucketSql('minute', step)} AS bucket, value, sum(count) AS n FROM ${tables.minutes}
    WHERE field = ? AND minute >= ? AND minute <= ? AND count > 0 GROUP BY 1, 2`
  return database.all(sql, by, ...sliceBounds(range)).map(({ bucket, value, n }) => ({
    startNs: (bucket as bigint) * step * minuteNs,
    value: String(value),
    count: Number(n),
  }))
}

/** Whether the rowids of some rows of these minutes tell no values, so that counts by values leave them out. */
export function holdsUntold({ database, tables }: DayCollection, minutes: SliceRange): boolean {
  const sql = `SELECT 1 FROM ${tables.together?.counts} WHERE grain = ? AND slice >= ? AND slice <= ? AND count > 0 LIMIT 1`
  return database.get(sql, untoldGrain, ...sliceBounds(minutes)) !== undefined
}

export type ValueCount = Readonly<{ startNs: bigint; id: number; count: number }>

/**
 * Counts of values together, by a grain, in steps of so many. A slice is read as two texts, of some thousand ids at most, since a row for
 * each would cost three times as much.
 */
export function countedTogether(
  { database, tables }: DayCollection,
  grainNs: bigint,
  range: SliceRange,
  step: bigint,
): readonly ValueCount[] {
  const sql = `SELECT slice, group_concat(id) AS ids, group_concat(count) AS counts FROM ${tables.together?.counts}
    WHERE grain = ? AND slice >= ? AND slice <= ? AND count > 0 GROUP BY slice`
  const steps = new Map<bigint, Map<number, number>>()
  for (const { slice, ids, counts } of database.iterate(sql, grainNs, ...sliceBounds(range))) {
    const startNs = floorTo(slice as bigint, step) * grainNs
    const sums = steps.get(startNs) ?? new Map<number, number>()
    steps.set(startNs, sums)
    const numbers = String(counts).split(',')
    for (const [at, text] of String(ids).split(',').entries()) {
      const id = Number(text)
      sums.set(id, (sums.get(id) ?? 0) + Number(numbers[at]))
    }
  }
  return [...steps].flatMap(([startNs, sums]) => [...sums].map(([id, count]) => ({ startNs, id, count })))
}
