import { PermanentError } from '#src/lib/failure.ts'
import { TooBroadError, type Filter } from '../../index-store.ts'
import { patternsOf, wholePattern, type PatternFilter } from '../pattern.ts'
import { visible } from '../row.ts'
import { numberIn, objectIn, objectsIn, textIn } from './answer-parts.ts'
import type { Expansions } from './filter.ts'
import { widerPattern } from './lucene-regex.ts'
import { tokensField } from './mapping.ts'
import { dayIn } from './names.ts'
import { ownTerms } from './own-terms.ts'
import { patiently } from './patience.ts'
import type { Target } from './search.ts'

/** The query whose rewritten form names the terms that a pattern may meet in a field, one more than it may. */
function expansionQuery(pattern: PatternFilter, field: string, expansionsMax: number): object {
  const value = widerPattern(pattern)
  const rewrite = `top_terms_${expansionsMax + 1}`
  return { regexp: { [tokensField(field)]: { value, flags: 'INTERSECTION', rewrite } } }
}

/**
 * The terms in the text of a rewritten query, `x_message:paid x_message:pay`: a term has no blank and no line break in it. A
 * query that comes to nothing is explained by itself.
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

type ExpansionLimits = Readonly<{ patternExpansionsMax: number }>

/** Where patterns are expanded: a target, and the first day of its indices that counts. */
type ExpandedIn = Readonly<{ target: Target; fromDay: string | undefined }>

/** Terms of all workspaces that a pattern may meet in a field; undefined when they are more than it may. */
async function sharedTerms(
  { target: { elasticsearch, indices }, fromDay = '' }: ExpandedIn,
  pattern: PatternFilter,
  field: string,
  max: number,
): Promise<Terms | undefined> {
  const call = { operation: 'expand a pattern in', subject: indices, method: 'POST' } as const
  const query = { rewrite: true, all_shards: true, ignore_unavailable: true, allow_no_indices: true }
  const path = `/${indices}/_validate/query`
  const body = { query: expansionQuery(pattern, field, max) }
  const answer = await patiently(indices, async () => {
    const { body: found } = await elasticsearch.send({ ...call, path, query, body })
    return numberIn(objectIn(found['_shards'])['failed']) === 0 ? found : undefined
  })
  const met = new Set<string>()
  for (const { index, explanation, valid } of objectsIn(answer['explanations'])) {
    if ((dayIn(textIn(index)) ?? '') < fromDay) continue
    if (valid !== true) throw new TooBroadError('the pattern is too complex')
    const terms = termsIn(textIn(explanation), field)
    if (terms.length > max) return undefined
    for (const term of terms) met.add(term)
  }
  const prefix = visible(pattern.prefix)
  const matcher = wholePattern(pattern.regex)
  return new Set([...met].filter((term) => term.startsWith(prefix) && matcher.test(term)))
}

type Terms = ReadonlySet<string>

const countOf = (terms: readonly Terms[]): number => new Set(terms.flatMap((each) => [...each])).size

/**
 * What a pattern meets in each of some fields. Days hold what all workspaces have sent. Whether a pattern is too broad must not tell
 * one of them what others hold: where all their words together are too many, those of this workspace's own documents are counted.
 */
async function expand(
  where: ExpandedIn,
  pattern: PatternFilter,
  fields: readonly string[],
  max: number,
): Promise<readonly Terms[]> {
  const shared = await Promise.all(fields.map((field) => sharedTerms(where, pattern, field, max)))
  if (shared.every((terms) => terms !== undefined) && countOf(shared) <= max) return shared
  const own: Terms[] = []
  for (const field of fields) own.push(await ownTerms(where.target, pattern, field, max))
  if (countOf(own) > max) throw new TooBroadError(`the pattern meets more than ${max} words`)
  return own
}

/** What the patterns of a filter meet in these indices. Throws TooBroadError when one meets too much. */
export async function expandPatterns(
  where: ExpandedIn,
  filter: Filter,
  { patternExpansionsMax: max }: ExpansionLimits,
): Promise<Expansions> {
  const all = patternsOf(filter).map(async (pattern) => {
    const fields = [...new Set(pattern.fields)]
    const terms = await expand(where, pattern, fields, max)
    const met = fields.map((field, at) => [field, [...(terms[at] ?? [])]] as const)
    return [pattern, new Map(met.filter(([, words]) => words.length > 0))] as const
  })
  return new Map(await Promise.all(all))
}
