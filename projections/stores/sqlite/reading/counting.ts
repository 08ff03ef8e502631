import type { Selection } from '../../../index-store.ts'
import type { Counter } from '../../counts.ts'
import { askedBeyond } from '../counted-where.ts'
import { grainsNs, minuteNs, parseKeywords, quarterNs } from '../layout.ts'
import { countBy, countRows } from './count-query.ts'
import { differenceOf } from './counted-without.ts'
import { mayHold, type AskedDay } from './day-query.ts'
import { keptByValue, keptTogether, type Asked, type Counted, type Kept } from './kept-counts.ts'

/** Receives the kept counts, and the ranges of rows for which none are kept. */
type Told = Readonly<{ onCount(counted: Counted): void; onRows(selection: Selection): void }>

/** Uses counts of values together: whole slices of the coarsest grain, finer ones beside them, and rows at the edges. */
function tellTogether(day: AskedDay, asked: Asked, told: Told, [grainNs, ...finer] = grainsNs): void {
  if (grainNs === undefined) return told.onRows(asked.selection)
  tell(day, asked, keptTogether(day, grainNs, asked), told, finer)
}

function tell(day: AskedDay, asked: Asked, kept: Kept | undefined, told: Told, grains = grainsNs): void {
  for (const counted of kept?.counts ?? []) told.onCount(counted)
  for (const range of kept?.beside ?? [asked.selection]) {
    // A slice may lie beyond all times of the file.
    if (!mayHold(day, range)) continue
    const { fromNs, toNs } = range
    tellTogether(day, { ...asked, selection: { ...asked.selection, fromNs, toNs } }, told, grains)
  }
}

/** Counts of values together by quarters of an hour. They are fewer than counts of single values, which are by minutes. */
const keptInQuarters = (day: AskedDay, asked: Asked): Kept | undefined => keptTogether(day, quarterNs, asked)

/** Rows with any of the words are counted and subtracted if they are at most four fifths of all. Beyond that, walking the others costs less. */
const isFewer = (some: number, all: number): boolean => 5 * some <= 4 * all

/** A selection whose counts are added or subtracted. */
type Addend = Readonly<{ selection: Selection; sign: 1 | -1 }>

/** The selections whose counts add up to what is asked for. A single value or step may add up to 0. */
function addendsOf(day: AskedDay, asked: Asked): readonly Addend[] {
  const plain: readonly Addend[] = [{ selection: asked.selection, sign: 1 }]
  const apart = differenceOf(day, asked)
  if (apart === undefined) return plain
  const { all, less } = apart
  // From postings alone: an estimate will do here.
  const words = { ...less, filter: askedBeyond(day.tables.shape, less.filter) ?? less.filter }
  if (!isFewer(countRows(day, words), countSelected(day, all))) return plain
  return [
    { selection: all, sign: 1 },
    { selection: less, sign: -1 },
  ]
}

/** Counts a file's rows by steps of time and by a keyword field. */
export function countDay(
  day: AskedDay,
  selection: Selection,
  { stepNs, by }: Readonly<{ stepNs: bigint; by: string }>,
  counter: Counter,
): void {
  const asked = { selection, stepNs, fields: [by] }
  for (const { selection: part, sign } of addendsOf(day, asked)) {
    const ofPart = { ...asked, selection: part }
    tell(day, ofPart, keptInQuarters(day, ofPart) ?? keptByValue(day, part, stepNs, by), {
      onCount: ({ startNs, values: [ofField = []], count }) => counter.add(startNs, ofField, sign * count),
      onRows(rest) {
        for (const { startNs, texts, count } of countBy(day, rest, { stepNs, fields: [by] }))
          counter.add(startNs, parseKeywords(texts[0]), sign * count)
      },
    })
  }
}

/** If only sums are asked for, kept counts are read in long steps. */
const longNs = 1_440n * minuteNs

/** How many rows of a file are selected. */
export function countAll(day: AskedDay, selection: Selection): number {
  const apart = differenceOf(day, { selection, stepNs: longNs, fields: [] })
  if (apart === undefined) return countSelected(day, selection)
  return countSelected(day, apart.all) - countRows(day, apart.less)
}

function countSelected(day: AskedDay, selection: Selection): number {
  let sum = 0
  const asked = { selection, stepNs: longNs, fields: [] }
  let kept = keptInQuarters(day, asked)
  // Any field will do, if the selection asks only for its values.
  for (const field of day.tables.counted) kept ??= keptByValue(day, selection, longNs, field)
  tell(day, asked, kept, {
    onCount({ count }) {
      sum += count
    },
    onRows(rest) {
      sum += countRows(day, rest)
    },
  })
  return sum
}

/** Called with how often a field has a value. */
export type Hear = (field: string, value: string, count: number) => void

/** How often each value of keyword fields occurs in a file's rows. The numbers for a value add up to that, which may be 0. */
export function countValues(day: AskedDay, selection: Selection, fields: readonly string[], hear: Hear): void {
  const known = fields.filter((field) => day.tables.keywords.includes(field))
  for (const { selection: part, sign } of addendsOf(day, { selection, stepNs: longNs, fields: known })) {
    countSelectedValues(day, part, known, (field, value, count) => hear(field, value, sign * count))
  }
}

function countSelectedValues(day: AskedDay, selection: Selection, known: readonly string[], hear: Hear): void {
  const asked = { selection, stepNs: longNs, fields: known }
  const together = keptInQuarters(day, asked)
  if (together !== undefined) return hearTogether(day, asked, together, hear)
  const kept = new Map(known.map((field) => [field, keptByValue(day, selection, longNs, field)]))
  for (const [field, found] of kept) {
    for (const { values, count } of found?.counts ?? []) for (const value of values[0] ?? []) hear(field, value, count)
  }
  const isKept = (field: string): boolean => kept.get(field) !== undefined
  // The edges beside whole minutes are the same for each field, so all fields are counted in one walk.
  const [ofKept, others] = [known.filter(isKept), known.filter((field) => !isKept(field))]
  const beside = { counts: [], beside: kept.get(ofKept[0] ?? '')?.beside ?? [] }
  hearTogether(day, { selection, stepNs: longNs, fields: ofKept }, beside, hear)
  if (others.length > 0) hearTogether(day, { selection, stepNs: longNs, fields: others }, undefined, hear)
}

function hearTogether(day: AskedDay, asked: Asked, kept: Kept | undefined, hear: Hear): void {
  const hearAll = (values: Counted['values'], count: number): void => {
    for (const [at, field] of asked.fields.entries()) for (const value of values[at] ?? []) hear(field, value, count)
  }
  tell(day, asked, kept, {
    onCount: ({ values, count }) => hearAll(values, count),
    onRows(rest) {
      for (const { texts, count } of countBy(day, rest, { fields: asked.fields }))
        hearAll(texts.map(parseKeywords), count)
    },
  })
}
