import { TooBroadError, type Filter } from '../../index-store.ts'
import { compareText, visible } from '../row.ts'
import { wholePattern } from '../pattern.ts'
import type { Database } from './database.ts'
import { tokensColumn, type Tables } from './layout.ts'

/** How far a pattern or range may spread within one file. */
export type ExpansionLimits = Readonly<{
  /** Terms that a pattern may meet. */
  patternExpansionsMax: number
  /** Terms that may be looked at for it. */
  patternScanTermsMax: number
}>

/** A token of the index, or the beginning of some. */
export type Term = Readonly<{ text: string; prefix: boolean }>

const exact = (text: string): Term => ({ text, prefix: false })

/** The terms of some fields between two texts, in order; a seek in the term index, not a scan of it. */
function* termsBetween(
  database: Database,
  tables: Tables,
  fields: readonly string[],
  from: string,
  to: string,
): Generator<string> {
  const columns = fields.map((field) => `'${tokensColumn(field)}'`).join(', ')
  const sql = `SELECT term, col IN (${columns}) AS wanted FROM ${tables.vocabulary} WHERE term >= ? AND term <= ?`
  for (const { term, wanted } of database.iterate(sql, from, to)) yield wanted === 1n ? String(term) : ''
}

/** After every text that begins with the prefix. */
const afterPrefix = (prefix: string): string => `${prefix}\u{10ffff}`

export function expandPattern(
  database: Database,
  tables: Tables,
  filter: Filter & { kind: 'pattern' },
  limits: ExpansionLimits,
): readonly Term[] {
  const prefix = visible(filter.prefix)
  const pattern = wholePattern(filter.regex)
  const met = new Set<string>()
  let scanned = 0
  for (const term of termsBetween(database, tables, filter.fields, prefix, afterPrefix(prefix))) {
    if (++scanned > limits.patternScanTermsMax) {
      throw new TooBroadError(`the pattern has to look at more than ${limits.patternScanTermsMax} words`)
    }
    if (term === '' || !pattern.test(term)) continue
    met.add(term)
    if (met.size > limits.patternExpansionsMax) {
      throw new TooBroadError(`the pattern meets more than ${limits.patternExpansionsMax} words`)
    }
  }
  return [...met].map(exact)
}

/** Below this many terms a range is the list of them; above, a few hundred prefixes say it as exactly. */
const rangeTermsMax = 256

export function expandRange(
  database: Database,
  tables: Tables,
  filter: Filter & { kind: 'tokenRange' },
  limits: ExpansionLimits,
): readonly Term[] {
  const { prefix, from, to } = filter
  const first = from !== undefined && compareText(from, prefix) > 0 ? from : prefix
  const last = to !== undefined && compareText(to, afterPrefix(prefix)) < 0 ? to : afterPrefix(prefix)
  const cover = coverOf(filter)
  const termsMax = cover === undefined ? limits.patternExpansionsMax : rangeTermsMax
  const met = new Set<string>()
  let scanned = 0
  for (const term of termsBetween(database, tables, filter.fields, first, last)) {
    if (term.startsWith(prefix)) met.add(term)
    if (met.size <= termsMax && ++scanned <= limits.patternScanTermsMax) continue
    if (cover !== undefined) return cover
    throw new TooBroadError(`the range meets more than ${limits.patternExpansionsMax} words`)
  }
  return [...met].map(exact)
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
  if (above === undefined && stem !== '') found.push(exact(stem))
  if (high === stem) return
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
