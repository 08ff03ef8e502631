import { stepsBelow } from '#src/lib/int64.ts'
import type { Filter, Selection } from '../../../index-store.ts'
import { isCountedWhole, keywordTerm } from '../../row.ts'
import { askedBeyond } from '../counted-where.ts'
import { beyondFirst, finestNsOf, minuteNs, noValue, parseKeywords } from '../layout.ts'
import { countedMinutes, countedTogether, untoldMinutes, type SliceRange } from './count-query.ts'
import type { DayCollection, TimeRange } from './day-query.ts'
import { readTexts, textsOfIds } from './told-values.ts'

/** How many rows of a step have these values, of each field asked for. */
export type Counted = Readonly<{ startNs: bigint; values: readonly (readonly string[])[]; count: number }>

/** What kept counts tell about a selection. `beside`: the rest of its range, which is not in whole slices of time. */
export type Kept = Readonly<{ counts: readonly Counted[]; beside: readonly TimeRange[] }>

/**
 * From the counts of a field's single values. A row counts under each of its values, and negatively for each value beyond its first, so that all
 * counts add up to rows. Undefined if they cannot answer.
 */
export function keptByValue(day: DayCollection, selection: Selection, stepNs: bigint, by: string): Kept | undefined {
  const test = testOfSelection(day, selection, [by])
  const minutes = wholeSlices(selection, minuteNs)
  if (stepNs % minuteNs !== 0n || test === undefined || minutes === undefined) return undefined
  const found = countedMinutes(day, by, minutes, stepNs / minuteNs)
  // Counts of single values do not tell which other values a row has, nor how a long value goes on.
  const saysNot = (value: string): boolean => value === beyondFirst || !parseKeywords(value).every(isCountedWhole)
  if (test !== anything && found.some(({ value }) => saysNot(value))) return undefined
  const counts = found.map(({ startNs, value, count }): Counted => {
    if (value === beyondFirst) return { startNs, values: [[]], count: -count }
    return { startNs, values: [value === noValue ? [] : parseKeywords(value)], count }
  })
  return {
    counts: test === anything ? counts : counts.filter(({ values }) => test(values)),
    beside: besides(selection, minutes, minuteNs),
  }
}

/** What is to be counted: in steps of time, by keyword fields. */
export type Asked = Readonly<{ selection: Selection; stepNs: bigint; fields: readonly string[] }>

/** Whether kept counts can answer, except for the edges beside whole slices of time. */
export function mayTell(day: DayCollection, { selection, stepNs, fields }: Asked): boolean {
  const { counted, together, shape } = day.tables
  const grainNs = finestNsOf(day.tables)
  if (stepNs % grainNs !== 0n || wholeSlices(selection, grainNs) === undefined) return false
  if (counted.length === 0 || !fields.every((field) => counted.includes(field))) return false
  // Counts of single values can only count all rows.
  if (together === undefined && askedBeyond(shape, selection.filter)?.kind !== 'all') return false
  if (together !== undefined && untoldOf(day, selection) === undefined) return false
  return testOfSelection(day, selection, counted) !== undefined
}

/** Whether a filter asks only for values that are counted. */
export const tellsValues = ({ tables }: DayCollection, filter: Filter): boolean =>
  testOf(filter, tables.counted) !== undefined

/** If rowids lack values in more minutes than this, rows are counted in one walk. */
const untoldMinutesMax = 60

function untoldOf(day: DayCollection, range: TimeRange): readonly bigint[] | undefined {
  const untold = untoldMinutes(day, minutesOf(range), untoldMinutesMax)
  return untold.length > untoldMinutesMax ? undefined : untold
}

/** From the counts of values together, of one grain. Undefined if they cannot answer. */
export function keptTogether(day: DayCollection, grainNs: bigint, asked: Asked): Kept | undefined {
  const { selection, stepNs, fields } = asked
  const { counted, together } = day.tables
  if (together === undefined || stepNs % grainNs !== 0n || !fields.every((field) => counted.includes(field)))
    return undefined
  const test = testOfSelection(day, selection, counted)
  const range = wholeSlices(selection, grainNs)
  if (test === undefined || range === undefined) return undefined
  const untold = untoldOf(day, selection)
  if (untold === undefined) return undefined
  const leaveOut = slicesOf(untold, grainNs, range)
  const textOf = textsOfIds(day, fields, test)
  const found = countedTogether(day, { grainNs, range, stepNs, leaveOut, textOf })
  const beside = [...leaveOut].map((slice) => ({ fromNs: slice * grainNs, toNs: (slice + 1n) * grainNs }))
  return {
    counts: found.map(({ startNs, value, count }) => ({
      startNs,
      values: readTexts(value).map(parseKeywords),
      count,
    })),
    beside: [...besides(selection, range, grainNs), ...joined(beside)],
  }
}

/** The slices of a range that overlap these minutes, ascending. */
function slicesOf(minutes: readonly bigint[], grainNs: bigint, { from, to }: SliceRange): ReadonlySet<bigint> {
  const slices = new Set<bigint>()
  for (const minute of minutes) {
    for (let ns = minute * minuteNs; ns < (minute + 1n) * minuteNs; ns += grainNs) {
      const slice = stepsBelow(ns, grainNs)
      if ((from === undefined || slice >= from) && (to === undefined || slice < to)) slices.add(slice)
    }
  }
  return slices
}

type WholeRange = Readonly<{ fromNs: bigint; toNs: bigint }>

/** Joins adjacent ranges. */
function joined(ranges: readonly WholeRange[]): readonly WholeRange[] {
  const found: WholeRange[] = []
  for (const range of ranges) {
    const last = found.at(-1)
    if (last?.toNs === range.fromNs) found.splice(-1, 1, { fromNs: last.fromNs, toNs: range.toNs })
    else found.push(range)
  }
  return found
}

/** The minutes that a range touches. */
const minutesOf = ({ fromNs, toNs }: TimeRange): SliceRange => ({
  from: fromNs === undefined ? undefined : stepsBelow(fromNs, minuteNs),
  to: toNs === undefined ? undefined : -stepsBelow(-toNs, minuteNs),
})

/** The slices that lie completely in a range; undefined if there are none. */
function wholeSlices({ fromNs, toNs }: TimeRange, ns: bigint): SliceRange | undefined {
  const from = fromNs === undefined ? undefined : -stepsBelow(-fromNs, ns)
  const to = toNs === undefined ? undefined : stepsBelow(toNs, ns)
  return from !== undefined && to !== undefined && from >= to ? undefined : { from, to }
}

function besides({ fromNs, toNs }: TimeRange, { from, to }: SliceRange, ns: bigint): readonly TimeRange[] {
  const ranges: TimeRange[] = []
  if (from !== undefined && fromNs !== from * ns) ranges.push({ fromNs, toNs: from * ns })
  if (to !== undefined && toNs !== to * ns) ranges.push({ fromNs: to * ns, toNs })
  return ranges
}

/** Tests the values of some fields, in the order of the fields. */
type Test = (values: readonly (readonly string[])[]) => boolean
const anything: Test = () => true

/** The selection's test beyond `countedWhere`; undefined if it asks for more than these values. */
function testOfSelection(
  { tables: { counted, shape } }: DayCollection,
  { filter, upTo, since }: Selection,
  fields: readonly string[],
): Test | undefined {
  if (upTo !== undefined || since !== undefined || !fields.every((field) => counted.includes(field))) return undefined
  const beyond = askedBeyond(shape, filter)
  return beyond && testOf(beyond, fields)
}

function testOf(filter: Filter, fields: readonly string[]): Test | undefined {
  if (filter.kind === 'all') return anything
  if (filter.kind === 'none') return () => false
  if (filter.kind === 'not') {
    const test = testOf(filter.of, fields)
    return test && ((values) => !test(values))
  }
  if (filter.kind === 'and' || filter.kind === 'or') {
    const tests = filter.of.map((part) => testOf(part, fields))
    if (!tests.every((test) => test !== undefined)) return undefined
    return filter.kind === 'and'
      ? (values) => tests.every((test) => test(values))
      : (values) => tests.some((test) => test(values))
  }
  return filter.kind === 'keyword' ? keywordTest(filter, fields) : undefined
}

function keywordTest({ field, values }: Filter & { kind: 'keyword' }, fields: readonly string[]): Test | undefined {
  const at = fields.indexOf(field)
  if (at < 0) return undefined
  const terms = new Set(values.map((value) => keywordTerm(field, value)))
  return (of) => of[at]?.some((value) => terms.has(keywordTerm(field, value))) === true
}
