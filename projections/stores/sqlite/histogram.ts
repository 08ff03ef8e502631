import type { Filter, Selection } from '../../index-store.ts'
import type { NumberFrom } from '../../projection.ts'
import type { Counter } from '../counts.ts'
import { floorTo, keywordTerm } from '../row.ts'
import {
  countByTime,
  countedMinutes,
  type CountedMinute,
  type DayCollection,
  type MinuteRange,
  type TimeRange,
} from './day-query.ts'
import type { Expansion } from './expand.ts'
import { beyondFirst, minuteNs, noValue, parseKeywords } from './layout.ts'

/** Counts a file's rows by time and keyword: whole minutes from what is kept of them, the rest row by row. */
export function countDay(
  day: DayCollection,
  selection: Selection,
  stepNs: bigint,
  by: string,
  expansion: Expansion,
  counter: Counter,
): void {
  const { fromNs, toNs } = selection
  const whole = countWholeMinutes(day, selection, stepNs, by)
  for (const { startNs, values, count } of whole?.counts ?? []) counter.add(startNs, values, count)
  for (const range of whole?.beside ?? [{ fromNs, toNs }]) {
    for (const { startNs, value, count } of countByTime(day, { ...selection, ...range }, stepNs, by, expansion)) {
      counter.add(startNs, parseKeywords(value), count)
    }
  }
}

/**
 * What is to be added up: a row counts under each of its values, and as many times less under none as it has values beyond the first,
 * so that counts of all values are those of rows.
 */
type MinuteCount = Readonly<{ startNs: bigint; values: readonly string[]; count: number }>
/** `beside`: what of the selection's range is of no whole minute. */
type WholeMinutes = Readonly<{ counts: readonly MinuteCount[]; beside: readonly TimeRange[] }>

/** What counts per minute by a field tell of a selection; undefined where its rows must be counted. */
export function countWholeMinutes(
  day: DayCollection,
  selection: Selection,
  stepNs: bigint,
  by: string,
): WholeMinutes | undefined {
  if (stepNs % minuteNs !== 0n) return undefined
  const wanted = wantedOf(day, selection, by)
  const minutes = wholeMinutes(selection)
  if (wanted === undefined || minutes === undefined) return undefined
  const found = countedMinutes(day, by, minutes, stepNs / minuteNs)
  // Which other values the rows of a value have, no count of single values tells.
  if (wanted !== 'all' && found.some(({ value }) => value === beyondFirst)) return undefined
  const counts = found.map(minuteCount)
  return {
    counts: wanted === 'all' ? counts : counts.filter(({ values }) => wanted(values)),
    beside: besides(selection, minutes),
  }
}

function minuteCount({ startNs, value, count }: CountedMinute): MinuteCount {
  if (value === beyondFirst) return { startNs, values: [], count: -count }
  return { startNs, values: value === noValue ? [] : parseKeywords(value), count }
}

/** The minutes that lie wholly in a range; undefined when there is none to speak of. */
function wholeMinutes({ fromNs, toNs }: TimeRange): MinuteRange | undefined {
  const from = fromNs === undefined ? undefined : -(floorTo(-fromNs, minuteNs) / minuteNs)
  const to = toNs === undefined ? undefined : floorTo(toNs, minuteNs) / minuteNs
  return from !== undefined && to !== undefined && from >= to ? undefined : { from, to }
}

function besides({ fromNs, toNs }: TimeRange, { from, to }: MinuteRange): readonly TimeRange[] {
  const ranges: TimeRange[] = []
  if (from !== undefined && fromNs !== from * minuteNs) ranges.push({ fromNs, toNs: from * minuteNs })
  if (to !== undefined && toNs !== to * minuteNs) ranges.push({ fromNs: to * minuteNs, toNs })
  return ranges
}

type Wanted = 'all' | ((values: readonly string[]) => boolean)

/** Of which values the counts by a field are asked for; undefined where more is asked than they tell. */
function wantedOf({ tables }: DayCollection, { filter, upTo, since }: Selection, by: string): Wanted | undefined {
  if (!tables.counted.includes(by) || upTo !== undefined || since !== undefined) return undefined
  const asked = askedBeyond(filter, tables.shape.countedWhere)
  if (asked?.kind === 'all') return 'all'
  if (asked?.kind !== 'keyword' || asked.field !== by) return undefined
  const terms = new Set(asked.values.map((value) => keywordTerm(by, value)))
  return (values) => values.some((value) => terms.has(keywordTerm(by, value)))
}

/** What a filter asks beyond the condition by which rows are counted; undefined where that is not a part of it. */
function askedBeyond(filter: Filter, where: NumberFrom | undefined): Filter | undefined {
  if (where === undefined) return filter
  const isWhere = (part: Filter): boolean =>
    part.kind === 'number' && part.field === where.field && part.from === where.from && part.to === undefined
  if (isWhere(filter)) return { kind: 'all' }
  if (filter.kind !== 'and' || filter.of.length !== 2) return undefined
  return filter.of.some(isWhere) ? filter.of.find((part) => !isWhere(part)) : undefined
}
