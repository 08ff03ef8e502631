import { int64Max, int64Min, stepsBelow } from '#src/lib/int64.ts'
import type { Selection } from '../../../index-store.ts'
import { askedBeyond, countedSql } from '../counted-where.ts'
import { bucketSql, keywordColumn, minuteNs, untoldGrain } from '../layout.ts'
import { isToldId, unknownValueIds, valueIdSql } from '../rowid-parts.ts'
import { fromSelection, type AskedDay, type DayCollection } from './day-query.ts'
import { addTo, type Tally } from './tally.ts'
import { readTexts, textsOfIds } from './told-values.ts'

export function countRows(day: AskedDay, selection: Selection): number {
  const from = fromSelection(day, selection, { columns: false })
  return from === undefined ? 0 : day.tallies.count(from)
}

/** How many rows of a step have these texts (layout.ts: formatKeywords) in the keyword fields, in the order asked. */
type Count = Readonly<{ startNs: bigint; texts: readonly unknown[]; count: number }>

/** What to count by: keyword fields together, and steps of time; without a step, all time together. */
type By = Readonly<{ stepNs?: bigint | undefined; fields: readonly string[] }>

/** Counts in a single walk, because the walk is the expensive part. */
export function countBy(day: AskedDay, selection: Selection, by: By): readonly Count[] {
  return rowidsTell(day, by) ? countByRowids(day, selection, by) : countByRows(day, selection, by)
}

/** Without a step, the only bucket starts at 0. */
const startOf = (bucket: unknown, stepNs: bigint | undefined): bigint => (bucket as bigint) * (stepNs ?? 0n)

function countByRows(day: AskedDay, selection: Selection, { stepNs, fields }: By, where = ''): readonly Count[] {
  const from = fromSelection(day, selection, { columns: true })
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

/** Whether rowids alone encode what is asked for. */
const rowidsTell = ({ tables }: DayCollection, { fields }: By): boolean =>
  tables.together !== undefined && fields.every((field) => tables.counted.includes(field))

/** Sums under a time and a text. */
const stepsOf = (sums: ReadonlyMap<bigint, ReadonlyMap<string, number>>): readonly SliceCount[] =>
  [...sums].flatMap(([startNs, ofStep]) => [...ofStep].map(([value, count]) => ({ startNs, value, count })))

/**
 * Counts from postings, or a walk, without reading rows, except the few whose rowids do not encode their values. A row with an id of values is always
 * a counted one (`countedWhere`), so that condition need not be tested.
 */
function countByRowids(day: AskedDay, given: Selection, by: By): readonly Count[] {
  const { tables } = day
  const { stepNs, fields } = by
  const beyond = askedBeyond(tables.shape, given.filter)
  const selection = beyond === undefined ? given : { ...given, filter: beyond }
  const from = fromSelection(day, selection, { columns: false })
  if (from === undefined) return []
  const textsOf = textsOfIds(day, fields)
  const sums = new Map<bigint, Map<string, number>>()
  let isToldOfAll = true
  for (const [step, ofStep] of day.tallies.of(from, stepNs)) {
    for (const [id, count] of ofStep) {
      const texts = isToldId(id) ? textsOf(id) : undefined
      if (texts === undefined) isToldOfAll = false
      else addTo(sums, startOf(BigInt(step), stepNs), texts, count)
    }
  }
  const counts = stepsOf(sums).map(({ startNs, value, count }): Count => ({
    startNs,
    texts: readTexts(value),
    count,
  }))
  if (isToldOfAll) return counts
  const isCounted = beyond === undefined ? '' : countedSql(tables.shape, 'r.')
  const where = ` AND ${valueIdSql(from.rowid)} < ${unknownValueIds}${isCounted}`
  return [...counts, ...countByRows(day, selection, by, where)]
}

/** Numbers of slices of time, from inclusive, to exclusive; undefined: open. */
export type SliceRange = Readonly<{ from: bigint | undefined; to: bigint | undefined }>

const sliceBounds = ({ from, to }: SliceRange): readonly [first: bigint, last: bigint] => [
  from ?? int64Min,
  to === undefined ? int64Max : to - 1n,
]

/** The count of one value, or of values together, in a step. */
type SliceCount = Readonly<{ startNs: bigint; value: string; count: number }>

/** The kept counts per minute of a field, in steps of `step` minutes. */
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

/** The minutes with rows whose rowids encode no values, which are missing in the counts of values together; at most `max + 1`. */
export const untoldMinutes = (
  { database, tables }: DayCollection,
  minutes: SliceRange,
  max: number,
): readonly bigint[] =>
  database
    .all(
      `SELECT slice FROM ${tables.together?.counts} WHERE grain = ? AND slice >= ? AND slice <= ? AND count > 0 LIMIT ?`,
      untoldGrain,
      ...sliceBounds(minutes),
      max + 1,
    )
    .map(({ slice }) => slice as bigint)

/** Which slices of a grain to sum up, in steps of `stepNs`. `textOf`: the text to count an id under; undefined: skip it. */
type Summing = Readonly<{
  grainNs: bigint
  range: SliceRange
  stepNs: bigint
  leaveOut: ReadonlySet<bigint>
  textOf: (id: number) => string | undefined
}>

/** A slice is read as two texts: a row for each of its ids would cost three times as much. */
function sumSlices({ database, tables }: DayCollection, { grainNs, range, stepNs, leaveOut }: Summing): Tally {
  const sql = `SELECT slice, group_concat(id) AS ids, group_concat(count) AS counts FROM ${tables.together?.counts}
    WHERE grain = ? AND slice >= ? AND slice <= ? AND count > 0 GROUP BY slice`
  const sums = new Map<number, Map<number, number>>()
  for (const { slice, ids, counts } of database.iterate(sql, grainNs, ...sliceBounds(range))) {
    if (leaveOut.has(slice as bigint)) continue
    const step = Number(stepsBelow((slice as bigint) * grainNs, stepNs))
    const numbers = String(counts).split(',')
    for (const [at, id] of String(ids).split(',').entries()) addTo(sums, step, Number(id), Number(numbers[at]))
  }
  return sums
}

/** The kept counts of values together. They are read once for all questions of one moment that may share them. */
export function countedTogether(day: DayCollection, summing: Summing): readonly SliceCount[] {
  const { grainNs, range, stepNs, textOf } = summing
  // Which slices of a range are left out, the file says.
  const name = [grainNs, range.from, range.to].join(' ')
  const sums = new Map<bigint, Map<string, number>>()
  for (const [step, ofStep] of day.tallies.kept(name, stepNs, () => sumSlices(day, summing))) {
    for (const [id, count] of ofStep) {
      const text = textOf(id)
      if (text !== undefined) addTo(sums, BigInt(step) * stepNs, text, count)
    }
  }
  return stepsOf(sums)
}
