import type { Filter, Selection } from '../../../index-store.ts'
import { isDriven, type AskedDay } from './day-query.ts'
import { mayTell, tellsValues, type Asked } from './kept-counts.ts'

/** Two selections; the second selects a part of the first. The answer is their difference. */
type Difference = Readonly<{ all: Selection; less: Selection }>

/**
 * Turns a selection of rows without some words into a difference: all rows, less those with any of the words. Kept counts tell the first, postings
 * the second; otherwise the rows without the words would be walked. Undefined if the selection is not of that form.
 */
export function differenceOf(day: AskedDay, asked: Asked): Difference | undefined {
  const { selection } = asked
  const parts = conjuncts(selection.filter)
  const isWithout = (part: Filter): part is Negation => part.kind === 'not' && !tellsValues(day, part)
  const without = parts.filter(isWithout).map(({ of }) => of)
  const rest = parts.filter((part) => !isWithout(part))
  const all = { ...selection, filter: joined('and', rest) }
  if (without.length === 0 || !mayTell(day, { ...asked, selection: all })) return undefined
  const less = { ...selection, filter: joined('and', [joined('or', without), ...rest]) }
  return isDriven(day, less.filter) ? { all, less } : undefined
}

type Negation = Filter & Readonly<{ kind: 'not' }>

/** Splits a filter into conditions that must all hold. */
function conjuncts(filter: Filter): readonly Filter[] {
  if (filter.kind === 'and') return filter.of.flatMap(conjuncts)
  if (filter.kind !== 'not') return [filter]
  const { of } = filter
  if (of.kind === 'not') return conjuncts(of.of)
  return of.kind === 'or' ? of.of.flatMap((part) => conjuncts({ kind: 'not', of: part })) : [filter]
}

function joined(kind: 'and' | 'or', parts: readonly Filter[]): Filter {
  const [only = { kind: 'all' }] = parts
  return parts.length < 2 ? only : { kind, of: parts }
}
