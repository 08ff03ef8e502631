import type { Selection } from '../../index-store.ts'
import type { Counter } from '../counts.ts'
import { floorTo, keywordTerm } from '../row.ts'
import {
  countByTime,
  countedMinutes,
  isCountedByMinute,
  type DayCollection,
  type MinuteRange,
  type TimeRange,
} from './day-query.ts'
import type { Expansion } from './expand.ts'
import { minuteNs, parseKeywords } from './layout.ts'

/** Counts a file's rows by time and keyword: whole minutes from what is kept of them, the rest row by row. */
export function countDay(
  day: DayCollection,
  selection: Selection,
  stepNs: bigint,
  by: string,
  expansion: Expansion,
  counter: Counter,
): void {
  const byRows = (range: TimeRange): void => {
    for (const { startNs, value, count } of countByTime(day, { ...selection, ...range }, stepNs, by, expansion)) {
      counter.add(startNs, parseKeywords(value), count)
    }
  }
  const { fromNs, toNs } = selection
  const minutes =
    stepNs % minuteNs === 0n && isCountedByMinute(day, selection, by) ? wholeMinutes(fromNs, toNs) : undefined
  if (minutes === undefined) return byRows({ fromNs, toNs })
  const { from, to } = minutes
  const isWanted = keywordTest(selection, by)
  for (const { startNs, value, count } of countedMinutes(day, by, minutes, stepNs / minuteNs)) {
    const values = parseKeywords(value)
    if (isWanted(values)) counter.add(startNs, values, count)
  }
  if (from !== undefined && fromNs !== from * minuteNs) byRows({ fromNs, toNs: from * minuteNs })
  if (to !== undefined && toNs !== to * minuteNs) byRows({ fromNs: to * minuteNs, toNs })
}

/** The minutes that lie wholly in a range; undefined when there is none to speak of. */
function wholeMinutes(fromNs: bigint | undefined, toNs: bigint | undefined): MinuteRange | undefined {
  const from = fromNs === undefined ? undefined : -(floorTo(-fromNs, minuteNs) / minuteNs)
  const to = toNs === undefined ? undefined : floorTo(toNs, minuteNs) / minuteNs
  return from !== undefined && to !== undefined && from >= to ? undefined : { from, to }
}

function keywordTest({ filter }: Selection, field: string): (values: readonly string[]) => boolean {
  if (filter.kind !== 'keyword') return () => true
  const wanted = new Set(filter.values.map((value) => keywordTerm(field, value)))
  return (values) => values.some((value) => wanted.has(keywordTerm(field, value)))
}
