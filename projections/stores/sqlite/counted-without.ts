import type { Filter, Selection } from '../../index-store.ts'
import { isDriven, type DayCollection } from './day-query.ts'
import type { Expansion } from './expand.ts'
import { mayTell, tellsValues, type Asked } from './kept-counts.ts'

/** Two selections: what the second counts is among what the first does, and what they differ by is asked for. */
export type Difference = Readonly<{ all: Selection; less: Selection }>

/**
 * A selection of rows that have none of some words as all rows without those that have any: what is kept tells of all, postings tell of
 * words, and only a walk of rows of what has none. Undefined where that is not how it can be told.
 */
export function differenceOf(day: DayCollection, asked: Asked, expansion: Expansion): Difference | undefined {
  const { selection } = asked
  const parts = conjuncts(selection.filter)
  const isWithout = (part: Filter): part is Negation => part.kind === 'not' && !tellsValues(day, part)
  const without = parts.filter(isWithout).map(({ of }) => of)
  const rest = parts.filter((part) => !isWithout(part))
  const all = { ...selection, filter: joined('and', rest) }
  if (without.length === 0 || !mayTell(day, { ...asked, selection: all })) return undefined
  const less = { ...selection, filter: joined('and', [joined('or', without), ...rest]) }
  return isDriven(day, less.filter, expansion) ? { all, less } : undefined
}

type Negation = Filter & Readonly<{ kind: 'not' }>

/** The conditions that must all hold, as far apart as they can be told. */
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
