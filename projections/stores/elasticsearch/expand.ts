import { PermanentError } from '#src/lib/failure.ts'
import { createSemaphore, type Semaphore } from '#src/lib/semaphore.ts'
import { TooBroadError, type Filter, type Selection } from '../../index-store.ts'
import { patternsOf, patternTest, type PatternFilter } from '../pattern.ts'
import { numberIn, objectIn, objectsIn, textIn } from './answer-parts.ts'
import { targetKey, type Target } from './ask.ts'
import { everyOpen, type Answer } from './call.ts'
import { daysTouched, inDays, type DaysTouched } from './days-touched.ts'
import type { Expansions } from './filter.ts'
import { widerPattern } from './lucene-regex.ts'
import { tokensField } from './mapping.ts'
import { dayIn, withoutCopies } from './names.ts'
import { ownTerms } from './own-terms.ts'
import { sendPatiently } from './patience.ts'
import { forbiddenPatternHint, isForbiddenPattern } from './reasons.ts'

/** The query whose rewritten form names the terms that a pattern may match in a field, up to one more than allowed. */
function expansionQuery(pattern: PatternFilter, field: string, expansionsMax: number): object {
  const value = widerPattern(pattern)
  const rewrite = `top_terms_${expansionsMax + 1}`
  return { regexp: { [tokensField(field)]: { value, flags: 'INTERSECTION', rewrite } } }
}

/**
 * The terms in the text of a rewritten query, `x_message:paid x_message:pay`. Terms contain no blanks and no line breaks. A query that matches nothing is
 * explained as an automaton.
 */
function termsIn(explanation: string, field: string): readonly string[] {
  const start = `${tokensField(field)}:`
  if (explanation.startsWith(`${start}AutomatonQuery {\n`)) return []
  return explanation.split(' ').map((part) => {
    if (part.startsWith(start)) return part.slice(start.length)
    const hint = 'this version of Elasticsearch explains queries in another way'
    throw new PermanentError({ operation: 'expand a pattern in', subject: explanation.slice(0, 200), hint })
  })
}

function notExpanded(error: string, subject: string): Error {
  if (!isForbiddenPattern(error)) return new TooBroadError('the pattern is too complex')
  return new PermanentError({ operation: 'expand a pattern in', subject, hint: forbiddenPatternHint })
}

export type ExpansionLimits = Readonly<{ patternExpansionsMax: number }>

type Terms = ReadonlySet<string>

/** The terms in each day, by the name of its index; undefined: there are more than allowed. */
type TermsByDay = ReadonlyMap<string, Terms | undefined>

/** The terms of all workspaces that a pattern matches in a field. */
async function sharedTerms(
  { elasticsearch, indices, fromDay = '' }: Target,
  pattern: PatternFilter,
  field: string,
  max: number,
): Promise<TermsByDay> {
  const call = { operation: 'expand a pattern in', subject: indices, method: 'POST' } as const
  const query = { rewrite: true, all_shards: true, ...everyOpen }
  const path = `/${withoutCopies(indices)}/_validate/query`
  const body = { query: expansionQuery(pattern, field, max) }
  const isWhole = (found: Answer): boolean => numberIn(objectIn(found.body['_shards'])['failed']) === 0
  const { body: answer } = await sendPatiently(elasticsearch, { ...call, path, query, body }, isWhole)
  const { test } = patternTest(pattern)
  const found = new Map<string, Set<string> | undefined>()
  for (const { index, explanation, valid, error } of objectsIn(answer['explanations'])) {
    const day = textIn(index)
    if ((dayIn(day) ?? '') < fromDay) continue
    if (valid !== true) throw notExpanded(textIn(error), indices)
    const terms = termsIn(textIn(explanation), field)
    const met = found.has(day) ? found.get(day) : new Set<string>()
    if (terms.length <= max) for (const term of terms) if (test(term)) met?.add(term)
    found.set(day, terms.length > max ? undefined : met)
  }
  return found
}

/** How many requests for patterns one search has under way: each goes to all shards, whose queue is everybody's, and a search may have a hundred patterns. */
const requestsAtOnce = 4

const countOf = (terms: readonly Terms[]): number => new Set(terms.flatMap((each) => [...each])).size

/** All terms of some days, for each field. */
const joined = (byField: readonly TermsByDay[], days: readonly string[]): readonly Terms[] =>
  byField.map((byDay) => new Set(days.flatMap((day) => [...(byDay.get(day) ?? [])])))

/** The days in which all workspaces together have no more terms than allowed, and the others. */
function parted(byField: readonly TermsByDay[], max: number): Readonly<{ few: string[]; many: string[] }> {
  const days = new Set(byField.flatMap((byDay) => [...byDay.keys()]))
  const isFew = (day: string): boolean =>
    byField.every((byDay) => !byDay.has(day) || byDay.get(day) !== undefined) && countOf(joined(byField, [day])) <= max
  const { few = [], many = [] } = Object.groupBy(days, (day) => (isFew(day) ? 'few' : 'many'))
  return { few, many }
}

/** The terms of a workspace in some days, for each field; none may have more than allowed. */
async function ownTermsOf(
  days: readonly string[],
  max: number,
  termsIn: (days: readonly string[]) => Promise<readonly Terms[]>,
): Promise<readonly Terms[]> {
  if (days.length === 0) return []
  const isOne = days.length === 1
  // Most workspaces have few in all of them together.
  const own = await termsIn(days).catch((error: unknown) => {
    if (isOne || !(error instanceof TooBroadError)) throw error
    return undefined
  })
  if (own !== undefined && countOf(own) <= max) return own
  if (isOne) throw new TooBroadError(`the pattern meets more than ${max} words of a day`)
  const found: (readonly Terms[])[] = []
  for (const day of days) found.push(await ownTermsOf([day], max, termsIn))
  return found[0]?.map((_, field) => new Set(found.flatMap((terms) => [...(terms[field] ?? [])]))) ?? []
}

/** What the patterns of a selection share. */
type Asking = Readonly<{ semaphore: Semaphore; touchedDays: () => Promise<DaysTouched> }>

/**
 * The terms that a pattern matches in each of some fields, in the days that the range of time touches. An index holds the terms of all workspaces, but
 * whether a pattern is too broad must not depend on what others hold. So if all terms of a day together are too many, those of this workspace's documents
 * are found.
 */
async function expand(
  target: Target,
  { pattern, fields }: Readonly<{ pattern: PatternFilter; fields: readonly string[] }>,
  max: number,
  { semaphore, touchedDays }: Asking,
): Promise<readonly Terms[]> {
  const inTurn = <T>(ask: (field: string) => Promise<T>): Promise<readonly T[]> =>
    Promise.all(fields.map((field) => semaphore.run(1, () => ask(field))))
  const byField = await inTurn((field) => sharedTerms(target, pattern, field, max))
  const { few, many } = parted(byField, max)
  const all = joined(byField, few)
  if (many.length === 0 && countOf(all) <= max) return all
  const touched = await touchedDays()
  const isTouched = (day: string): boolean => touched === undefined || touched.has(day)
  const own = await ownTermsOf(many.filter(isTouched), max, (days) =>
    inTurn((field) => ownTerms(target, { pattern, field, max, within: [inDays(days)] })),
  )
  return joined(byField, few.filter(isTouched)).map((terms, field) => new Set([...terms, ...(own[field] ?? [])]))
}

/** Expands the patterns of a selection. Throws TooBroadError if one matches too many terms of a day. */
export async function expandPatterns(
  target: Target,
  selection: Selection,
  { patternExpansionsMax: max }: ExpansionLimits,
): Promise<Expansions> {
  const semaphore = createSemaphore(requestsAtOnce)
  let touched: Promise<DaysTouched> | undefined
  const touchedDays = () => (touched ??= daysTouched(target, selection))
  const all = patternsOf(selection.filter).map(async (pattern) => {
    const fields = [...new Set(pattern.fields)]
    const terms = await expand(target, { pattern, fields }, max, { semaphore, touchedDays })
    const met = fields.map((field, at) => [field, [...(terms[at] ?? [])]] as const)
    return [pattern, new Map(met.filter(([, words]) => words.length > 0))] as const
  })
  return new Map(await Promise.all(all))
}

type Expand = typeof expandPatterns

/** An expansion that remembers, for the time of one request: a page asks four questions of one filter, an export one for each batch. */
export function remembering(expandNow: Expand): Expand {
  const known = new WeakMap<Filter, Map<string, Promise<Expansions>>>()
  return (target, selection, limits) => {
    const { filter, fromNs, toNs } = selection
    const key = [targetKey(target), target.fromDay, fromNs, toNs].join(' ')
    const byTarget = known.get(filter) ?? new Map<string, Promise<Expansions>>()
    known.set(filter, byTarget)
    const expansions = byTarget.get(key) ?? expandNow(target, selection, limits)
    byTarget.set(key, expansions)
    return expansions
  }
}
