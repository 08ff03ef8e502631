import type { QueryTree } from '#src/events/query-tree.ts'
import type { PlacedWord } from '#src/events/tokens.ts'
import { bareName, foldCase, placedWords, words } from '#src/events/tokens.ts'
import { wildcardShapes } from '#src/events/wildcard.ts'
import { createLinearMatcher } from '#src/lib/regex/linear-matcher.ts'
import { parseRegex } from '#src/lib/regex/parse-regex.ts'
import { regexSource } from '#src/lib/regex/regex-node.ts'

/** A place in a text: UTF-16 units, end exclusive. */
export type Span = Readonly<{ start: number; end: number }>

const spansMax = 1_000
/** How much of a text is searched. A megabyte has two hundred thousand words, and nothing else runs meanwhile. */
const textCharactersMax = 64 * 1024

/** Finds matches among the words of a text: the first word and how many. */
type Finder = (text: readonly PlacedWord[]) => readonly Readonly<{ first: number; count: number }>[]

/** `field`: the name that the text must have; null: any. */
type NamedFinder = Readonly<{ field: string | null; find: Finder }>

/**
 * The places where a search matches a text, by the same tokens as in the index. `names`: the field names by which a query may mean the text. Parts
 * under a negation do not count. In order, not overlapping, at most 1,000; of a very long text only those near its beginning.
 */
export function createHighlighter(tree: QueryTree): (text: string, names: readonly string[]) => readonly Span[] {
  const finders = findersOf(tree)
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
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1)
    if (last === undefined || span.start >= last.end) merged.push(span)
    else if (span.end > last.end) merged[merged.length - 1] = { start: last.start, end: span.end }
  }
  return merged
}

function findersOf(tree: QueryTree): readonly NamedFinder[] {
  if (tree.kind === 'and' || tree.kind === 'or') return tree.of.flatMap(findersOf)
  if (tree.kind === 'text') return [{ field: null, find: phraseFinder(words(tree.text), false) }]
  if (tree.kind === 'match') return [{ field: bareName(tree.field), find: phraseFinder(words(tree.text), false) }]
  if (tree.kind !== 'pattern') return []
  const field = tree.field === null ? null : bareName(tree.field)
  return patternFinders(tree).map((find) => ({ field, find }))
}

function patternFinders({ syntax, pattern }: Extract<QueryTree, { kind: 'pattern' }>): readonly Finder[] {
  if (syntax === 'wildcard') {
    return wildcardShapes(pattern).map((shape) =>
      shape.kind === 'phrase' ? phraseFinder(shape.words, shape.prefix) : wordFinder(shape.regex),
    )
  }
  const parsed = parseRegex(pattern, { fold: foldCase })
  return parsed.ok ? [wordFinder(regexSource(parsed.value))] : []
}

function wordFinder(regex: string): Finder {
  const matches = createLinearMatcher(regex)
  return (text) => text.flatMap(({ word }, first) => (matches(word) ? [{ first, count: 1 }] : []))
}

function phraseFinder(tokens: readonly string[], prefix: boolean): Finder {
  const isThere = (word: string | undefined, index: number): boolean => {
    const token = tokens[index] ?? ''
    return prefix && index === tokens.length - 1 ? word?.startsWith(token) === true : word === token
  }
  return (text) => {
    if (tokens.length === 0) return []
    return text.flatMap((_word, first) =>
      tokens.every((_token, index) => isThere(text[first + index]?.word, index))
        ? [{ first, count: tokens.length }]
        : [],
    )
  }
}
