import type { QueryTree } from '#src/events/query-tree.ts'
import { bareName, foldCase, placedWords, words, type PlacedWord } from '#src/events/tokens.ts'
import { wildcardShapes } from '#src/events/wildcard.ts'
import {
  createLinearMatcher,
  createNodeMatcher,
  type LinearMatcher,
  type MatcherWork,
} from '#src/lib/regex/linear-matcher.ts'
import { parseKnownRegex } from '#src/lib/regex/parse-regex.ts'

/** A place in a text: UTF-16 units, end exclusive. */
export type Span = Readonly<{ start: number; end: number }>

const spansMax = 1_000
/** How much of a text is searched. A megabyte has two hundred thousand words, and nothing else runs meanwhile. */
const textCharactersMax = 64 * 1024
/** What the patterns of a search may cost over all its texts: some 20 ms. What they would meet beyond that is not marked. */
const matcherWorkMax = 200_000

/** Finds matches among the words of a text: the first word and how many. */
type Finder = (text: readonly PlacedWord[]) => readonly Readonly<{ first: number; count: number }>[]

/** `field`: the name that the text must have; null: any. */
type NamedFinder = Readonly<{ field: string | null; find: Finder }>

/**
 * The places where a search matches a text, by the same tokens as in the index. `names`: the field names by which a query may mean the text. Parts
 * under a negation do not count. In order, not overlapping, at most 1,000; of a very long text only those near its beginning.
 */
export function createHighlighter(tree: QueryTree): (text: string, names: readonly string[]) => readonly Span[] {
  const finders = findersOf(tree, { left: matcherWorkMax })
  return (text, names) => {
    const looking = finders.filter(({ field }) => field === null || names.includes(field))
    if (looking.length === 0) return []
    const placed = placedWords(text.slice(0, textCharactersMax))
    const found = looking.flatMap(({ find }) => find(placed).map((match) => spanOf(placed, match)))
    return merge(found).slice(0, spansMax)
  }
}

function spanOf(placed: readonly PlacedWord[], { first, count }: Readonly<{ first: number; count: number }>): Span {
  return { start: placed[first]?.start ?? 0, end: placed[first + count - 1]?.end ?? 0 }
}

function merge(spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1)
    if (last === undefined || span.start >= last.end) merged.push(span)
    else if (span.end > last.end) merged[merged.length - 1] = { start: last.start, end: span.end }
  }
  return merged
}

function findersOf(tree: QueryTree, work: MatcherWork): readonly NamedFinder[] {
  if (tree.kind === 'and' || tree.kind === 'or') return tree.of.flatMap((part) => findersOf(part, work))
  if (tree.kind === 'text') return [{ field: null, find: phraseFinder(words(tree.text), false) }]
  if (tree.kind === 'match') return [{ field: bareName(tree.field), find: phraseFinder(words(tree.text), false) }]
  if (tree.kind !== 'pattern') return []
  const field = tree.field === null ? null : bareName(tree.field)
  return patternFinders(tree, work).map((find) => ({ field, find }))
}

function patternFinders(
  { syntax, pattern }: Extract<QueryTree, { kind: 'pattern' }>,
  work: MatcherWork,
): readonly Finder[] {
  if (syntax === 'wildcard') {
    return wildcardShapes(pattern).map((shape) =>
      shape.kind === 'phrase'
        ? phraseFinder(shape.words, shape.prefix)
        : wordFinder(createLinearMatcher(shape.regex), work),
    )
  }
  return [wordFinder(createNodeMatcher(parseKnownRegex(pattern, foldCase)), work)]
}

function wordFinder(matches: LinearMatcher, work: MatcherWork): Finder {
  return (text) => text.flatMap(({ word }, first) => (matches(word, work) ? [{ first, count: 1 }] : []))
}

/** With `prefix` the last token is the beginning of a word. Each word is looked at twice at most, however a phrase repeats itself. */
function phraseFinder(tokens: readonly string[], prefix: boolean): Finder {
  const whole = prefix ? tokens.slice(0, -1) : tokens
  const last = tokens.at(-1) ?? ''
  const advance = advanceIn(whole)
  return (text) => {
    if (tokens.length === 0) return []
    let met = 0
    return text.flatMap(({ word }, at) => {
      const isMetBefore = met === whole.length
      met = advance(met, word)
      const isMet = prefix ? isMetBefore && word.startsWith(last) : met === whole.length
      return isMet ? [{ first: at + 1 - tokens.length, count: tokens.length }] : []
    })
  }
}

/** From how many of the tokens, from the first on, have just been met, to how many are with the next word (Knuth, Morris, Pratt 1977). */
function advanceIn(tokens: readonly string[]): (met: number, word: string) => number {
  /** Of as many tokens as the index says: how many of their last ones are the first ones too. */
  const again = [0, 0]
  const advance = (met: number, word: string): number => {
    let place = met
    while (place > 0 && tokens[place] !== word) place = again[place] ?? 0
    return tokens[place] === word ? place + 1 : 0
  }
  for (const token of tokens.slice(1)) again.push(advance(again.at(-1) ?? 0, token))
  return advance
}
