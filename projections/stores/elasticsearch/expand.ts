import { PermanentError } from '#src/lib/failure.ts'
import { createSemaphore, type Semaphore } from '#src/lib/semaphore.ts'
import { TooBroadError, type Filter } from '../../index-store.ts'
import { patternsOf, patternTest, type PatternFilter } from '../pattern.ts'
import { numberIn, objectIn, objectsIn, textIn } from './answer-parts.ts'
import { targetKey, type Target } from './ask.ts'
import { everyOpen, type Answer } from './call.ts'
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

/** The terms of all workspaces that a pattern matches in a field; undefined if there are more than allowed. */
async function sharedTerms(
  { elasticsearch, indices, fromDay = '' }: Target,
  pattern: PatternFilter,
  field: string,
  max: number,
): Promise<Terms | undefined> {
  const call = { operation: 'expand a pattern in', subject: indices, method: 'POST' } as const
  const query = { rewrite: true, all_shards: true, ...everyOpen }
  const path = `/${withoutCopies(indices)}/_validate/query`
  const body = { query: expansionQuery(pattern, field, max) }
  const isWhole = (found: Answer): boolean => numberIn(objectIn(found.body['_shards'])['failed']) === 0
  const { body: answer } = await sendPatiently(elasticsearch, { ...call, path, query, body }, isWhole)
  const met = new Set<string>()
  for (const { index, explanation, valid, error } of objectsIn(answer['explanations'])) {
    if ((dayIn(textIn(index)) ?? '') < fromDay) continue
    if (valid !== true) throw notExpanded(textIn(error), indices)
    const terms = termsIn(textIn(explanation), field)
    if (terms.length > max) return undefined
    for (const term of terms) met.add(term)
  }
  const { test } = patternTest(pattern)
  return new Set([...met].filter((term) => test(term)))
}

/** How many requests for patterns one search has under way: each goes to all shards, whose queue is everybody's, and a search may have a hundred patterns. */
const requestsAtOnce = 4

type Terms = ReadonlySet<string>

const countOf = (terms: readonly Terms[]): number => new Set(terms.flatMap((each) => [...each])).size

/**
 * The terms that a pattern matches in each of some fields. An index holds the terms of all workspaces, but whether a pattern is too broad must not depend
 * on what others hold. So if all terms together are too many, those of this workspace's documents are found.
 */
async function expand(
  target: Target,
  pattern: PatternFilter,
  fields: readonly string[],
  max: number,
  semaphore: Semaphore,
): Promise<readonly Terms[]> {
  const inTurn = <T>(ask: (field: string) => Promise<T>): Promise<readonly T[]> =>
    Promise.all(fields.map((field) => semaphore.run(1, () => ask(field))))
  const shared = await inTurn((field) => sharedTerms(target, pattern, field, max))
  if (shared.every((terms) => terms !== undefined) && countOf(shared) <= max) return shared
  const own = await inTurn((field) => ownTerms(target, pattern, field, max))
  if (countOf(own) > max) throw new TooBroadError(`the pattern meets more than ${max} words`)
  return own
}

/** Expands the patterns of a filter in these indices. Throws TooBroadError if one matches too many terms. */
export async function expandPatterns(
  target: Target,
  filter: Filter,
  { patternExpansionsMax: max }: ExpansionLimits,
): Promise<Expansions> {
  const semaphore = createSemaphore(requestsAtOnce)
  const all = patternsOf(filter).map(async (pattern) => {
    const fields = [...new Set(pattern.fields)]
    const terms = await expand(target, pattern, fields, max, semaphore)
    const met = fields.map((field, at) => [field, [...(terms[at] ?? [])]] as const)
    return [pattern, new Map(met.filter(([, words]) => words.length > 0))] as const
  })
  return new Map(await Promise.all(all))
}

/** `expandPatterns` that remembers, for the time of one request: a page asks four questions of one filter, an export one for each batch. */
export function createExpander(): typeof expandPatterns {
  const known = new WeakMap<Filter, Map<string, Promise<Expansions>>>()
  return (target, filter, limits) => {
    const key = `${targetKey(target)} ${target.fromDay ?? ''}`
    const byTarget = known.get(filter) ?? new Map<string, Promise<Expansions>>()
    known.set(filter, byTarget)
    const expansions = byTarget.get(key) ?? expandPatterns(target, filter, limits)
    byTarget.set(key, expansions)
    return expansions
  }
}
