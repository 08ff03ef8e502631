import { askedSpanId, askedTraceId } from '#src/events/ids.ts'
import type { QueryTree } from '#src/events/query-tree.ts'
import { opaqueId } from '#src/events/tokens.ts'
import { wildcardAtEndOnly } from '#src/events/wildcard.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { createSemaphore } from '#src/lib/semaphore.ts'
import { TooBroadError, type Filter, type IndexReader } from '../index-store.ts'
import { isLeaf, leafFilter, leavesOf, type QueryLeaf } from '../reading/field-query.ts'
import { ownField, type FieldSchema, type KeywordField } from '../reading/field-schema.ts'
import { is, isOneOf, join, negate } from '../reading/filters.ts'
import { tracesScope } from './read-traces.ts'

/** The most distinct resources or scopes that one condition may match. Each deployment of a fleet adds some. */
const attributeSetsMax = 10_000
/** How many look-ups of one search run at once: each condition has its own, and a search may have a hundred conditions. */
const lookUpsAtOnce = 8
type SetKind = 'resource' | 'scope'

/** A field of which each span has one of these values. */
const oneOf = (field: string, ...values: readonly string[]): KeywordField => ({
  field,
  canonical: (text) => values.find((value) => value === text.trim().toLowerCase()),
  apart: { values, always: true },
})
const asIs = (text: string): string => text.trim()
const traceId = (text: string): string => askedTraceId(text) ?? asIs(text)
const spanId = (text: string): string => askedSpanId(text) ?? asIs(text)

/** A span's own fields, which are not attributes. `service` and `operation` are in its tokens too. */
export const spanFields: Pick<FieldSchema, 'keywords' | 'numbers'> = {
  keywords: {
    service: { field: 'service' },
    operation: { field: 'operation' },
    kind: oneOf('kind', 'unspecified', 'internal', 'server', 'client', 'producer', 'consumer'),
    status: oneOf('status', 'unset', 'ok', 'error'),
    trace_id: { field: 'trace_id', canonical: traceId, apart: { always: true } },
    span_id: { field: 'span_id', canonical: spanId, apart: { always: true } },
    parent_span_id: { field: 'parent_span_id', canonical: spanId, apart: {} },
    session_id: { field: 'session_id', canonical: opaqueId, apart: {} },
  },
  numbers: { duration: 'duration_ns', duration_ns: 'duration_ns' },
}
const anywhere: FieldSchema = { text: ['values', 'event_values'], fields: ['fields', 'event_fields'], ...spanFields }
const inSpan: FieldSchema = { text: ['values'], fields: ['fields'], ...spanFields }
const inEvents: FieldSchema = { text: ['event_values'], fields: ['event_fields'] }
const inSets: FieldSchema = { text: ['values'], fields: ['fields'] }

/** Many people call the operation `name`. */
const aliases: ReadonlyMap<string, string> = new Map([['name', 'operation']])

type Narrowed = Readonly<{ where: 'span' | 'event' | 'resource' | 'scope'; leaf: QueryLeaf }>

/** Reads a prefix: `resource.region:eu` asks for `region` of resources only. */
function narrow(leaf: QueryLeaf): Narrowed | undefined {
  if (!('field' in leaf) || leaf.field === null) return undefined
  const [, where, field] = /^@?(span|event|resource|scope)\.(.+)$/is.exec(leaf.field) ?? []
  if (where === undefined || field === undefined) return undefined
  return { where: where.toLowerCase() as Narrowed['where'], leaf: { ...leaf, field } }
}

function withAlias(leaf: QueryLeaf): QueryLeaf | undefined {
  if (!('field' in leaf) || leaf.field === null) return undefined
  const field = aliases.get(leaf.field.toLowerCase())
  return field === undefined ? undefined : { ...leaf, field }
}

/** The id fields for which a search has a pattern that cannot match: ids are found only whole and by prefix. */
export const unmetIdPatterns = (tree: QueryTree): readonly string[] => leavesOf(tree).flatMap(unmetIdPattern)

function unmetIdPattern(leaf: QueryLeaf): readonly string[] {
  if (leaf.kind !== 'pattern' || leaf.field === null) return []
  const own = ownField(spanFields, leaf.field.replace(/^@?span\./i, ''))
  const isId = typeof own === 'object' && own.apart !== undefined && own.apart.values === undefined
  const isMet = leaf.syntax === 'wildcard' && wildcardAtEndOnly(leaf.pattern)
  return isId && !isMet ? [leaf.field] : []
}

/**
 * The filter over spans for a search. A field is looked for in the attributes of the span, its events, its resource and its scope. A prefix (`span.`,
 * `event.`, `resource.`, `scope.`) limits it to one of them, besides attributes whose names begin with the prefix. Conditions on resources and scopes
 * become the hashes of those that match; rejects with TooBroadError if these are more than 10,000.
 */
export async function spanFilter(reader: IndexReader, workspaceId: WorkspaceId, tree: QueryTree): Promise<Filter> {
  const scope = tracesScope(workspaceId, 'attributeSets')
  const lookUps = createSemaphore(lookUpsAtOnce)

  /** The hashes of the sets that meet a condition. Reads no documents, because a set may have a megabyte. */
  async function hashesOf(condition: Filter, kind: SetKind): Promise<readonly string[]> {
    const filter = join('and', [condition, is('kind', kind)])
    const limit = attributeSetsMax + 1
    const places = await lookUps.run(1, () =>
      reader.places(scope, { filter, orderBy: 'timeNs', direction: 'asc', limit }),
    )
    return [...new Set(places.map(({ id }) => id))]
  }

  async function setsThat(leaf: QueryLeaf, kinds: readonly SetKind[] = ['resource', 'scope']): Promise<Filter> {
    const condition = leafFilter(leaf, inSets)
    if (condition.kind === 'none' || condition.kind === 'all') return condition
    const found = await Promise.all(kinds.map(async (field) => ({ field, values: await hashesOf(condition, field) })))
    if (found.reduce((sum, { values }) => sum + values.length, 0) > attributeSetsMax) {
      throw new TooBroadError(`more than ${attributeSetsMax} resources and scopes match one condition`)
    }
    return join(
      'or',
      found.map(({ field, values }) => isOneOf(field, values)),
    )
  }

  async function leafOfSpan(leaf: QueryLeaf): Promise<Filter> {
    if (leaf.kind === 'all') return { kind: 'all' }
    const parts = [leafFilter(leaf, anywhere)]
    const lookedUp = [setsThat(leaf)]
    const alias = withAlias(leaf)
    if (alias !== undefined) parts.push(leafFilter(alias, inSpan))
    const narrowed = narrow(leaf)
    if (narrowed?.where === 'span') parts.push(leafFilter(withAlias(narrowed.leaf) ?? narrowed.leaf, inSpan))
    if (narrowed?.where === 'event') parts.push(leafFilter(narrowed.leaf, inEvents))
    if (narrowed?.where === 'resource' || narrowed?.where === 'scope') {
      lookedUp.push(setsThat(narrowed.leaf, [narrowed.where]))
    }
    return join('or', [...parts, ...(await Promise.all(lookedUp))])
  }

  async function treeOfSpan(tree: QueryTree): Promise<Filter> {
    if (isLeaf(tree)) return leafOfSpan(tree)
    if (tree.kind === 'not') return negate(await treeOfSpan(tree.of))
    return join(tree.kind, await Promise.all(tree.of.map(treeOfSpan)))
  }

  return treeOfSpan(tree)
}
