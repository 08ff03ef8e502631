import type { QueryTree } from '#src/events/query-tree.ts'

/** A part of a query; undefined where nothing in it can be searched, and it is left out. */
export type Part = QueryTree | undefined

/** The parts joined, flat: `and` within `and` is one `and`. Everything adds nothing to an `and`. */
export function joinParts(kind: 'and' | 'or', parts: readonly Part[]): Part {
  const given = parts.filter((part) => part !== undefined)
  const flat = given.flatMap((part) => (part.kind === kind ? part.of : [part]))
  const kept = kind === 'and' ? flat.filter((part) => part.kind !== 'all') : flat
  if (kept.length === 0) return given[0]
  return kept.length === 1 ? kept[0] : { kind, of: kept }
}

export function negatePart(part: Part): Part {
  if (part === undefined) return undefined
  return part.kind === 'not' ? part.of : { kind: 'not', of: part }
}
