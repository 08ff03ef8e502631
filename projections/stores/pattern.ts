import { createLinearMatcher } from '#src/lib/regex/linear-matcher.ts'
import type { Filter } from '../index-store.ts'

export type PatternFilter = Filter & Readonly<{ kind: 'pattern' }>

/** Every pattern within a filter: each may meet so many tokens only. */
export function patternsOf(filter: Filter): readonly PatternFilter[] {
  if (filter.kind === 'pattern') return [filter]
  if (filter.kind === 'and' || filter.kind === 'or') return filter.of.flatMap(patternsOf)
  return filter.kind === 'not' ? patternsOf(filter.of) : []
}

type TokenPattern = Readonly<{ test(token: string): boolean }>

const patterns = new Map<string, TokenPattern>()
/** Each keeps an automaton, which may come to a few hundred kilobytes. */
const patternsMax = 100

/**
 * The regular expression of a `pattern` filter, to be matched against whole tokens: in time linear in the token, whatever the
 * expression, since it comes from a query. It is one that lib/regex accepts.
 */
export function wholePattern(regex: string): TokenPattern {
  const known = patterns.get(regex)
  if (known !== undefined) return known
  if (patterns.size >= patternsMax) patterns.clear()
  const made = { test: createLinearMatcher(regex) }
  patterns.set(regex, made)
  return made
}
