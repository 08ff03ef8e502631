import { isFieldWord, sentinel } from '#src/events/tokens.ts'
import { createNodeMatcher, type MatcherWork } from '#src/lib/regex/linear-matcher.ts'
import { parseKnownRegex } from '#src/lib/regex/parse-regex.ts'
import { literalBehind } from '#src/lib/regex/regex-node.ts'
import type { Filter } from '../index-store.ts'
import { visible } from './row.ts'

export type PatternFilter = Filter & Readonly<{ kind: 'pattern' }>

/** The conditions that a filter is made of. */
export function leavesOf(filter: Filter): readonly Filter[] {
  if (filter.kind === 'and' || filter.kind === 'or') return filter.of.flatMap(leavesOf)
  return filter.kind === 'not' ? leavesOf(filter.of) : [filter]
}

/** Every pattern within a filter: the number of tokens that each may match is limited. */
export const patternsOf = (filter: Filter): readonly PatternFilter[] =>
  leavesOf(filter).filter((leaf) => leaf.kind === 'pattern')

type TokenPattern = Readonly<{
  test(token: string, work?: MatcherWork): boolean
  /** Every token that matches contains it, behind what all begin with. */
  literal: string
}>

const patterns = new Map<string, TokenPattern>()
/** Each has an automaton, which may have a megabyte. */
const patternsMax = 100

/**
 * Matches the regular expression of a `pattern` filter against whole tokens, in time linear in the token whatever the expression, because it comes from a
 * query. It is one that lib/regex accepts.
 */
export function wholePattern(regex: string): TokenPattern {
  const known = patterns.get(regex)
  if (known !== undefined) return known
  if (patterns.size >= patternsMax) patterns.clear()
  const node = parseKnownRegex(regex)
  const made = { test: createNodeMatcher(node), literal: literalBehind(node) }
  patterns.set(regex, made)
  return made
}

/** The test that a `pattern` filter makes of tokens. */
export function patternTest({ prefix, regex, ofWords, ofField }: PatternFilter): TokenPattern {
  const start = visible(prefix)
  const { test, literal } = wholePattern(regex)
  const isMeant = (token: string): boolean =>
    token.startsWith(start) && (ofWords !== true || token !== sentinel) && (ofField !== true || isFieldWord(token))
  return { test: (token, work) => isMeant(token) && test(token, work), literal }
}
