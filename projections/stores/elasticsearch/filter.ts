import { stringifyJson } from '#src/lib/json.ts'
import { compareText } from '#src/lib/compare-text.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Filter, Selection } from '../../index-store.ts'
import { int64sBetween, keywordTerm, keywordTermPrefix, visible } from '../row.ts'
import { daysFrom } from './names.ts'
import { keywordsField, numberField, positionField, timeField, tokensField } from './mapping.ts'

export type TimeRange = Pick<Selection, 'fromNs' | 'toNs'>

/** A query in Elasticsearch's terms. */
export type Query = Readonly<Record<string, unknown>>

/**
 * The tokens that each pattern of a filter matches, by field (expand.ts), and those that may end a phrase, where it is not asked for by the prefix that it
 * ends in (expand-phrases.ts).
 */
export type Expansions = ReadonlyMap<Filter, ReadonlyMap<string, readonly string[]>>

const all: Query = { match_all: {} }
const none: Query = { match_none: {} }

/** Elasticsearch accepts queries of 30 levels. A query that is packed into a text counts separately. */
const levelsMax = 20

export function and(parts: readonly Query[]): Query {
  return parts.length === 0 ? all : { bool: { filter: parts } }
}

function or(parts: readonly Query[]): Query {
  const [only] = parts
  if (only === undefined) return none
  return parts.length === 1 ? only : { bool: { should: parts } }
}

/** All documents of a workspace. */
export const ofWorkspace = (workspaceId: WorkspaceId): Query => ({ term: { _routing: workspaceId } })

const packed = (query: Query): Query => ({
  wrapper: { query: Buffer.from(stringifyJson(query)).toString('base64') },
})

type Leaf = Extract<Filter, { kind: 'keyword' | 'keywordPrefix' | 'number' | 'phrase' | 'pattern' | 'tokenRange' }>

/** A filter as a query. Patterns must have been expanded. */
function queryOf(filter: Filter, expansions: Expansions, level = 0): Query {
  if (level === levelsMax) return packed(queryOf(filter, expansions))
  const part = (inner: Filter): Query => queryOf(inner, expansions, level + 1)
  if (filter.kind === 'all' || filter.kind === 'none') return filter.kind === 'all' ? all : none
  if (filter.kind === 'and') return and(filter.of.map(part))
  if (filter.kind === 'or') return or(filter.of.map(part))
  if (filter.kind === 'not') return { bool: { must_not: [part(filter.of)] } }
  return leafQuery(filter as Leaf, expansions)
}

const anyTerm = (field: string, terms: readonly string[]): Query => ({ terms: { [field]: terms } })

/** The server's maximum for one list. A pattern may meet a thousand terms of each day. */
const termsAtOnce = 65_536

/** The terms in as many lists as they need. */
function anyOfTerms(field: string, terms: readonly string[]): readonly Query[] {
  if (terms.length <= termsAtOnce) return [anyTerm(field, terms)]
  return [anyTerm(field, terms.slice(0, termsAtOnce)), ...anyOfTerms(field, terms.slice(termsAtOnce))]
}

function leafQuery(filter: Leaf, expansions: Expansions): Query {
  switch (filter.kind) {
    case 'keyword':
      return anyTerm(
        keywordsField,
        filter.values.map((value) => keywordTerm(filter.field, value)),
      )
    case 'keywordPrefix':
      return { prefix: { [keywordsField]: { value: keywordTermPrefix(filter.field, filter.prefix) } } }
    case 'number':
      return between(numberField(filter.field), filter.from, filter.to)
    case 'phrase':
      return phraseQuery(filter, expansions.get(filter))
    case 'pattern':
      return or([...(expansions.get(filter) ?? [])].flatMap(([field, terms]) => anyOfTerms(tokensField(field), terms)))
    case 'tokenRange':
      break
  }
  return rangeQuery(filter)
}

/** Between two bounds, inclusive; without any, that there is a value. */
function between(field: string, from: number | bigint | undefined, to: number | bigint | undefined): Query {
  if (from === undefined && to === undefined) return { exists: { field } }
  const range = int64sBetween(from, to)
  if (range === undefined) return none
  return { range: { [field]: { gte: range.least, lte: range.most } } }
}

function phraseQuery(
  { fields, tokens, prefix = false }: Filter & { kind: 'phrase' },
  lastWords: ReadonlyMap<string, readonly string[]> | undefined,
): Query {
  if (tokens.length === 0 || tokens.some((token) => token === '' || token.includes(' '))) return none
  const visibleTokens = tokens.map(visible)
  return or(fields.map((field) => phraseIn(tokensField(field), visibleTokens, prefix, lastWords?.get(field))))
}

const spanTerm = (field: string, token: string): Query => ({ span_term: { [field]: token } })

function phraseIn(
  field: string,
  tokens: readonly string[],
  prefix: boolean,
  lastWords: readonly string[] | undefined,
): Query {
  const last = tokens.at(-1) ?? ''
  if (tokens.length === 1) return prefix ? { prefix: { [field]: { value: last } } } : { term: { [field]: last } }
  if (!prefix) return { match_phrase: { [field]: tokens.join(' ') } }
  if (lastWords?.length === 0) return none
  const ending =
    lastWords === undefined
      ? { span_multi: { match: { prefix: { [field]: { value: last } } } } }
      : { span_or: { clauses: lastWords.map((word) => spanTerm(field, word)) } }
  const clauses = [...tokens.slice(0, -1).map((token) => spanTerm(field, token)), ending]
  return { span_near: { slop: 0, in_order: true, clauses } }
}

/** The smallest text after all that begin with the prefix; undefined if there is none. */
function afterPrefix(prefix: string): string | undefined {
  const characters = Array.from(prefix)
  for (let last = characters.pop(); last !== undefined; last = characters.pop()) {
    const code = last.codePointAt(0) ?? 0
    // Surrogates are not characters: the next one is U+E000.
    if (code < 0x10ffff) return characters.join('') + String.fromCodePoint(code === 0xd7ff ? 0xe000 : code + 1)
  }
  return undefined
}

/** Terms are in UTF-8 order, which is the text order of tokens. */
function rangeQuery({ fields, prefix: given, from, to }: Filter & { kind: 'tokenRange' }): Query {
  const prefix = visible(given)
  const gte = from !== undefined && compareText(from, prefix) > 0 ? from : prefix
  const after = afterPrefix(prefix)
  const lte = to !== undefined && (after === undefined || compareText(to, after) < 0) ? to : undefined
  if (lte !== undefined && compareText(lte, gte) < 0) return none
  const upper = lte !== undefined ? { lte } : after === undefined ? {} : { lt: after }
  return or(fields.map((field) => ({ range: { [tokensField(field)]: { gte, ...upper } } })))
}

/** All documents of a collection from a day on. `days`: the prefix of its index names. */
export const daysQuery = (days: string, fromDay: string): Query =>
  or(daysFrom(fromDay).map((day) => ({ prefix: { _index: `${days}${day}` } })))

/** What leaves out documents beyond a range of time, beside other conditions. */
export const inRange = ({ fromNs, toNs }: TimeRange): readonly Query[] =>
  fromNs === undefined && toNs === undefined
    ? []
    : [between(timeField, fromNs, toNs === undefined ? undefined : toNs - 1n)]

/** The query of a selection, always within a workspace. */
export function selectionQuery(workspaceId: WorkspaceId, selection: Selection, expansions: Expansions): Query {
  const { filter, upTo, since } = selection
  const parts: Query[] = [ofWorkspace(workspaceId), ...inRange(selection)]
  if (upTo !== undefined || since !== undefined) {
    parts.push(between(positionField, since === undefined ? undefined : since + 1, upTo))
  }
  if (filter.kind !== 'all') parts.push(queryOf(filter, expansions))
  return and(parts)
}
