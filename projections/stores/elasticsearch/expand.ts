import { assert } from '#src/lib/assert.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { parseRegex } from '#src/lib/regex/parse-regex.ts'
import type { RegexNode } from '#src/lib/regex/regex-node.ts'
import { TooBroadError, type Filter } from '../../index-store.ts'
import { wholePattern } from '../pattern.ts'
import { visible } from '../row.ts'
import { numberIn, objectIn, objectsIn, textIn } from './answer-parts.ts'
import type { Elasticsearch } from './client.ts'
import type { Expansions, PatternFilter } from './filter.ts'
import { tokensField } from './mapping.ts'
import { dayIn } from './names.ts'
import { patiently } from './patience.ts'

// Lucene's regular expressions know no Unicode properties, and ours are matched by one matcher everywhere. So the term dictionary
// is asked for what a wider expression meets (exact within Latin-1, any character beyond), and that is matched by ours.

/** Characters whose class membership is told one by one. */
const exactCodes = 0x100

/** A character as itself in a regular expression of Lucene. */
const escaped = (character: string): string => (/^[!-/:-@[-`{-~]$/.test(character) ? `\\${character}` : character)

const escapedText = (text: string): string => Array.from(text, escaped).join('')

/** Whether a class of JavaScript's syntax may have characters beyond Latin-1. */
const reachesBeyond = (source: string): boolean => /[^\0-\u007f]|\\[pPDWSsu]|^\[\^/.test(source)

/** A class of characters as Lucene writes it, and perhaps wider; undefined when it has none. */
function classOf(source: string): string | undefined {
  if (source === '.') return '.'
  const test = new RegExp(`^${source}$`, 'su')
  const ranges: [number, number][] = []
  for (let code = 1; code < exactCodes; code++) {
    if (!test.test(String.fromCodePoint(code))) continue
    const last = ranges.at(-1)
    if (last?.[1] === code - 1) last[1] = code
    else ranges.push([code, code])
  }
  if (reachesBeyond(source)) ranges.push([exactCodes, 0x10ffff])
  if (ranges.length === 0) return undefined
  const text = ranges.map(([from, to]) =>
    from === to
      ? escaped(String.fromCodePoint(from))
      : `${escaped(String.fromCodePoint(from))}-${escaped(String.fromCodePoint(to))}`,
  )
  return `[${text.join('')}]`
}

/** An expression that meets nothing: no token has both. */
const nothing = '(a&b)'

/** What meets at least all that the expression meets, in Lucene's syntax. */
export function widerRegex(node: RegexNode): string {
  switch (node.kind) {
    case 'character':
      return node.literal === undefined ? (classOf(node.source) ?? nothing) : escaped(node.literal)
    case 'sequence':
      return node.of.length === 0 ? '()' : node.of.map((item) => group(item)).join('')
    case 'choice':
      return node.of.map((item) => group(item)).join('|')
    case 'repeat':
      break
  }
  return group(node.of) + (node.max === null ? `{${node.min},}` : `{${node.min},${node.max}}`)
}

const group = (node: RegexNode): string => (node.kind === 'character' ? widerRegex(node) : `(${widerRegex(node)})`)

/** Every pattern within a filter. */
export function patternsOf(filter: Filter): readonly PatternFilter[] {
  if (filter.kind === 'pattern') return [filter]
  if (filter.kind === 'and' || filter.kind === 'or') return filter.of.flatMap(patternsOf)
  return filter.kind === 'not' ? patternsOf(filter.of) : []
}

/** The query whose rewritten form names the terms that a pattern may meet in a field, one more than it may. */
export function expansionQuery({ prefix, regex }: PatternFilter, field: string, expansionsMax: number): object {
  const parsed = parseRegex(regex)
  assert(parsed.ok, `not a linear expression: ${regex}`)
  const value = `(${widerRegex(parsed.value)})&(${escapedText(visible(prefix))}.*)`
  const rewrite = `top_terms_${expansionsMax + 1}`
  return { regexp: { [tokensField(field)]: { value, flags: 'INTERSECTION', rewrite } } }
}

/**
 * The terms in the text of a rewritten query, `x_message:paid x_message:pay`: a term has no blank and no line break in it. A
 * query that comes to nothing is explained by itself.
 */
export function termsIn(explanation: string, field: string): readonly string[] {
  const start = `${tokensField(field)}:`
  if (explanation.startsWith(`${start}AutomatonQuery {\n`)) return []
  return explanation.split(' ').map((part) => {
    if (part.startsWith(start)) return part.slice(start.length)
    const hint = 'this version of Elasticsearch explains queries in another way'
    throw new PermanentError({ operation: 'expand a pattern in', subject: explanation.slice(0, 200), hint })
  })
}

export type ExpansionLimits = Readonly<{ patternExpansionsMax: number }>

const tooMany = (max: number): TooBroadError => new TooBroadError(`the pattern meets more than ${max} words`)

/** Indices, and the first day of those that count. */
export type ExpandedIn = Readonly<{ indices: string; fromDay: string | undefined }>

async function termsMet(
  elasticsearch: Elasticsearch,
  { indices, fromDay = '' }: ExpandedIn,
  pattern: PatternFilter,
  field: string,
  max: number,
): Promise<ReadonlySet<string>> {
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
    if (terms.length > max) throw tooMany(max)
    for (const term of terms) met.add(term)
  }
  return met
}

async function expand(
  elasticsearch: Elasticsearch,
  where: ExpandedIn,
  pattern: PatternFilter,
  { patternExpansionsMax: max }: ExpansionLimits,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const matcher = wholePattern(pattern.regex)
  const prefix = visible(pattern.prefix)
  const fields = [...new Set(pattern.fields)].map(async (field) => {
    const met = await termsMet(elasticsearch, where, pattern, field, max)
    return [field, [...met].filter((term) => term.startsWith(prefix) && matcher.test(term))] as const
  })
  const terms = new Map((await Promise.all(fields)).filter(([, matching]) => matching.length > 0))
  if (new Set([...terms.values()].flat()).size > max) throw tooMany(max)
  return terms
}

/** What the patterns of a filter meet in these indices. Throws TooBroadError when one meets too much. */
export async function expandPatterns(
  elasticsearch: Elasticsearch,
  where: ExpandedIn,
  filter: Filter,
  limits: ExpansionLimits,
): Promise<Expansions> {
  const all = patternsOf(filter).map(
    async (pattern) => [pattern, await expand(elasticsearch, where, pattern, limits)] as const,
  )
  return new Map(await Promise.all(all))
}
