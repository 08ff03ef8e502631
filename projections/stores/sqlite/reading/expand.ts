import type { MatcherWork } from '#src/lib/regex/linear-matcher.ts'
import { compareText } from '#src/lib/compare-text.ts'
import type { Position } from '#src/events/envelope.ts'
import { TooBroadError, type Filter, type Selection } from '../../../index-store.ts'
import { patternTest } from '../../pattern.ts'
import { visible } from '../../row.ts'
import type { Database } from '../database.ts'
import type { Tables } from '../layout.ts'
import { metTerms } from './met-terms.ts'
import { ifKnown } from '../fts5/segments.ts'
import { afterPrefix, termsBetween, type Part } from './terms-between.ts'
import { termsOnPages } from './terms-on-pages.ts'

/** How many terms the patterns and ranges of one question may match and scan. */
export type Expansion = Readonly<{
  /** How many terms each may match in one file. */
  termsMax: number
  /** How many terms may still be scanned for them, in all files; it is counted down. */
  scan: { left: number }
  /** What the automata of patterns may still cost beside that. */
  work: MatcherWork
  /** The question is of what was written up to there. */
  upTo: Position | undefined
}>

/** The collection of a file in which a question looks for terms. */
export type TermSource = Readonly<{ database: Database; tables: Tables; expansion: Expansion }>

/** A second or two. Patterns that people write need a thousandth of it; there are some that would need minutes for the terms of a large day. */
const matcherWorkMax = 10_000_000

export type ExpansionLimits = Readonly<{ patternExpansionsMax: number; patternScanTermsMax: number }>

export const createExpansion = (
  { patternExpansionsMax, patternScanTermsMax }: ExpansionLimits,
  { upTo }: Pick<Selection, 'upTo'>,
): Expansion => ({
  termsMax: patternExpansionsMax,
  scan: { left: patternScanTermsMax },
  work: { left: matcherWorkMax },
  upTo,
})

/** A token of the index, or a prefix of tokens. */
export type Term = Readonly<{ text: string; prefix: boolean }>

const exact = (text: string): Term => ({ text, prefix: false })

/** The wanted terms, unless there are too many, or too many would have to be scanned. */
function meet(
  parts: Iterable<Part>,
  isWanted: (term: string) => boolean,
  termsMax: number,
  { scan, work }: Expansion,
): readonly Term[] | 'too many' | 'too far' {
  const met = new Set<string>()
  for (const { looked, terms, inFields } of parts) {
    scan.left -= looked
    if (scan.left < 0) return 'too far'
    for (const term of inFields(terms.filter((term) => isWanted(term) && !met.has(term)))) met.add(term)
    if (met.size > termsMax) return 'too many'
    if (work.left < 0) return 'too far'
  }
  return [...met].map(exact)
}

function tooBroad(what: string, why: 'too many' | 'too far', termsMax: number): TooBroadError {
  if (why === 'too many') return new TooBroadError(`the ${what} meets more than ${termsMax} words of a day`)
  return new TooBroadError(
    `the ${what} has to be compared with too many words: search a shorter time, or say how they begin`,
  )
}

export function expandPattern(
  { database, tables, expansion }: TermSource,
  filter: Filter & { kind: 'pattern' },
): readonly Term[] {
  const { termsMax, scan, work, upTo } = expansion
  const { met, isNew } = metTerms(database, { pattern: JSON.stringify([tables.terms, filter]), upTo }, () => {
    const [scanLeft, workLeft] = [scan.left, work.left]
    const prefix = visible(filter.prefix)
    const pattern = patternTest(filter)
    const { fields, ofWords = false } = filter
    const meetThese = (parts: Iterable<Part>) => meet(parts, (term) => pattern.test(term, work), termsMax, expansion)
    const wanted = { fields, prefix, literal: pattern.literal, ofWords }
    const between = { fields, from: prefix, to: afterPrefix(prefix) }
    const terms =
      ifKnown(() => meetThese(termsOnPages(database, tables, wanted))) ??
      meetThese(termsBetween(database, tables, between))
    if (typeof terms === 'string') throw tooBroad('pattern', terms, termsMax)
    return { terms, scanned: scanLeft - scan.left, worked: workLeft - work.left }
  })
  if (!isNew) {
    // It counts as if it had been looked for: whether a search is too broad must not depend on what was asked before.
    scan.left -= met.scanned
    work.left -= met.worked
    if (scan.left < 0 || work.left < 0) throw tooBroad('pattern', 'too far', termsMax)
  }
  return met.terms
}

/** Up to so many terms, a range becomes the list of them; beyond, a few hundred prefixes, which are as exact. */
const rangeTermsMax = 256

export function expandRange(
  { database, tables, expansion }: TermSource,
  given: Filter & { kind: 'tokenRange' },
): readonly Term[] {
  const filter = { ...given, prefix: visible(given.prefix) }
  const { prefix, from, to } = filter
  const first = from !== undefined && compareText(from, prefix) > 0 ? from : prefix
  const last = to !== undefined && compareText(to, afterPrefix(prefix)) < 0 ? to : afterPrefix(prefix)
  const cover = coverOf(filter)
  const termsMax = cover === undefined ? expansion.termsMax : rangeTermsMax
  const parts = termsBetween(database, tables, { fields: filter.fields, from: first, to: last })
  const met = meet(parts, () => true, termsMax, expansion)
  if (typeof met !== 'string') return met
  if (cover === undefined) throw tooBroad('range', met, termsMax)
  return cover
}

const hexDigits = '0123456789abcdef'
const isHex = (text: string): boolean => /^[0-9a-f]{0,32}$/.test(text)

/** The prefixes that cover exactly the numbers of a range; undefined if its bounds are not numbers (src/events/tokens.ts). */
export function coverOf({ prefix, from, to }: Filter & { kind: 'tokenRange' }): readonly Term[] | undefined {
  const low = from?.slice(prefix.length)
  const high = to?.slice(prefix.length)
  if (!(from ?? prefix).startsWith(prefix) || !(to ?? prefix).startsWith(prefix)) return undefined
  if (!isHex(low ?? '') || !isHex(high ?? '')) return undefined
  const found: Term[] = []
  cover('', low, high, found)
  return found.map((term) => ({ ...term, text: prefix + term.text }))
}

/**
 * Covers all texts of hex digits that begin with `stem` and lie between `low` and `high`, inclusive. A bound that does not begin with the
 * stem no longer matters, and is undefined.
 */
function cover(stem: string, low: string | undefined, high: string | undefined, found: Term[]): void {
  const above = low === stem ? undefined : low
  if (above === undefined && high === undefined) {
    found.push({ text: stem, prefix: true })
    return
  }
  // The text that ends here sorts before all longer ones: it is in the range unless the lower bound is longer.
  if (above === undefined) found.push(exact(stem))
  for (const digit of hexDigits) {
    const next = stem + digit
    if (bounds(next, above) < 0 || bounds(next, high) > 0) continue
    cover(next, within(above, next), within(high, next), found)
  }
}

const within = (bound: string | undefined, stem: string): string | undefined =>
  bound?.startsWith(stem) === true ? bound : undefined

/** How all texts that begin with `stem` compare to a bound; 0 if the bound is among them, or undefined. */
function bounds(stem: string, bound: string | undefined): number {
  if (bound === undefined || bound.startsWith(stem)) return 0
  return stem < bound ? -1 : 1
}
