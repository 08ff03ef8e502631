import { TooBroadError, type Filter } from '../../index-store.ts'
import { compareText, visible } from '../row.ts'
import { wholePattern } from '../pattern.ts'
import type { Database } from './database.ts'
import { tokensColumn, type Tables } from './layout.ts'

/** How far the patterns and ranges of one question may spread. */
export type Expansion = Readonly<{
  /** Terms that each may meet in one file. */
  termsMax: number
  /** Terms that may still be looked at for them, in all files; it is counted down. */
  scan: { left: number }
}>

export type ExpansionLimits = Readonly<{ patternExpansionsMax: number; patternScanTermsMax: number }>

export const createExpansion = ({ patternExpansionsMax, patternScanTermsMax }: ExpansionLimits): Expansion => ({
  termsMax: patternExpansionsMax,
  scan: { left: patternScanTermsMax },
})

/** A token of the index, or the beginning of some. */
export type Term = Readonly<{ text: string; prefix: boolean }>

const exact = (text: string): Term => ({ text, prefix: false })

/** Terms are read so many at once, at first and at last: a row for each would cost twice as much, and the first few may be enough. */
const termsAtOnceMin = 500
const termsAtOnceMax = 16_000

/** Of the terms that were looked at, those of the fields that are asked for. */
type Part = Readonly<{ looked: number; terms: readonly string[] }>

/** The terms of some fields between two texts, in order, by parts; a seek in the term index, not a scan of it. No term has a blank. */
function* termsBetween(
  database: Database,
  tables: Tables,
  fields: readonly string[],
  from: string,
  to: string,
): Generator<Part> {
  const columns = fields.map((field) => `'${tokensColumn(field)}'`).join(', ')
  const part = `SELECT term, col IN (${columns}) AS wanted FROM ${tables.vocabulary} WHERE term >= ? AND term <= ? ORDER BY term LIMIT ?`
  const sql = `SELECT count(*) AS n, max(term) AS last, group_concat(term, ' ') FILTER (WHERE wanted) AS terms FROM (${part})`
  let first = from
  for (let atOnce = termsAtOnceMin; ; atOnce = Math.min(2 * atOnce, termsAtOnceMax)) {
    const found = database.get(sql, first, to, atOnce)
    const looked = Number(found?.['n'])
    const terms = found?.['terms']
    yield { looked, terms: typeof terms === 'string' ? terms.split(' ') : [] }
    if (looked < atOnce) return
    // A term has a row for each of its fields: those of the last may be in the next part.
    first = String(found?.['last'])
  }
}

/** Those that are wanted, unless they are more than may be met, or take more looking than is left. */
function meet(
  parts: Iterable<Part>,
  isWanted: (term: string) => boolean,
  termsMax: number,
  { scan }: Expansion,
): readonly Term[] | 'too many' | 'too far' {
  const met = new Set<string>()
  for (const { looked, terms } of parts) {
    scan.left -= looked
    if (scan.left < 0) return 'too far'
    for (const term of terms) {
      if (isWanted(term)) met.add(term)
      if (met.size > termsMax) return 'too many'
    }
  }
  return [...met].map(exact)
}

function tooBroad(what: string, why: 'too many' | 'too far', termsMax: number): TooBroadError {
  if (why === 'too many') return new TooBroadError(`the ${what} meets more than ${termsMax} words`)
  return new TooBroadError(
    `the ${what} has to be compared with too many words: search a shorter time, or say how they begin`,
  )
}

/** After every text that begins with the prefix. */
const afterPrefix = (prefix: string): string => `${prefix}\u{10ffff}`

export function expandPattern(
  database: Database,
  tables: Tables,
  filter: Filter & { kind: 'pattern' },
  expansion: Expansion,
): readonly Term[] {
  const { termsMax } = expansion
  const prefix = visible(filter.prefix)
  const pattern = wholePattern(filter.regex)
  const parts = termsBetween(database, tables, filter.fields, prefix, afterPrefix(prefix))
  const met = meet(parts, (term) => pattern.test(term), termsMax, expansion)
  if (typeof met === 'string') throw tooBroad('pattern', met, termsMax)
  return met
}

/** Below this many terms a range is the list of them; above, a few hundred prefixes say it as exactly. */
const rangeTermsMax = 256

export function expandRange(
  database: Database,
  tables: Tables,
  given: Filter & { kind: 'tokenRange' },
  expansion: Expansion,
): readonly Term[] {
  const filter = { ...given, prefix: visible(given.prefix) }
  const { prefix, from, to } = filter
  const first = from !== undefined && compareText(from, prefix) > 0 ? from : prefix
  const last = to !== undefined && compareText(to, afterPrefix(prefix)) < 0 ? to : afterPrefix(prefix)
  const cover = coverOf(filter)
  const termsMax = cover === undefined ? expansion.termsMax : rangeTermsMax
  const parts = termsBetween(database, tables, filter.fields, first, last)
  const met = meet(parts, () => true, termsMax, expansion)
  if (typeof met !== 'string') return met
  if (cover === undefined) throw tooBroad('range', met, termsMax)
  return cover
}

const hexDigits = '0123456789abcdef'
const isHex = (text: string): boolean => /^[0-9a-f]{0,32}$/.test(text)

/** The prefixes that hold exactly the numbers of a range; undefined when its bounds are not numbers (tokens.ts). */
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
 * All texts of hex digits that begin with `stem`, at or above `low` and at or below `high`. A bound that no longer begins
 * with the stem has been settled on the way and is undefined.
 */
function cover(stem: string, low: string | undefined, high: string | undefined, found: Term[]): void {
  const above = low === stem ? undefined : low
  if (above === undefined && high === undefined) {
    found.push({ text: stem, prefix: true })
    return
  }
  // The text that ends here comes before all that go on: it is in the range unless the lower bound goes on.
  if (above === undefined) found.push(exact(stem))
  for (const digit of hexDigits) {
    const next = stem + digit
    if (bounds(next, above) < 0 || bounds(next, high) > 0) continue
    cover(next, within(above, next), within(high, next), found)
  }
}

const within = (bound: string | undefined, stem: string): string | undefined =>
  bound?.startsWith(stem) === true ? bound : undefined

/** How all texts that begin with `stem` stand to a bound: 0 when it is among them, or there is none. */
function bounds(stem: string, bound: string | undefined): number {
  if (bound === undefined || bound.startsWith(stem)) return 0
  return stem < bound ? -1 : 1
}
