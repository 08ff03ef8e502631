import type { Filter } from '../index-store.ts'

export const all: Filter = { kind: 'all' }
export const none: Filter = { kind: 'none' }

/** Both, or either: without parts that change nothing. */
export function join(kind: 'and' | 'or', parts: readonly Filter[]): Filter {
  const [neutral, absorbing] = kind === 'and' ? [all, none] : [none, all]
  if (parts.some((part) => part.kind === absorbing.kind)) return absorbing
  const rest = parts.filter((part) => part.kind !== neutral.kind)
  const [only = neutral] = rest
  return rest.length < 2 ? only : { kind, of: rest }
}

export function negate(filter: Filter): Filter {
  if (filter.kind === 'all') return none
  if (filter.kind === 'none') return all
  return filter.kind === 'not' ? filter.of : { kind: 'not', of: filter }
}

/** A `keyword` or `id` field with one of the values; of no values, nothing. */
export function isOneOf(field: string, of: Iterable<string>): Filter {
  const values = [...of]
  return values.length === 0 ? none : { kind: 'keyword', field, values }
}

/** A field with the value that is asked for; undefined: any or none. */
export const is = (field: string, value: string | undefined): Filter =>
  value === undefined ? all : isOneOf(field, [value])
