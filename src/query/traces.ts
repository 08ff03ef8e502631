import { z } from 'zod'
import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Json } from '#src/lib/json.ts'
import type { Result } from '#src/lib/result.ts'
import { ok } from '#src/lib/result.ts'
import type { TraceRequest } from '#projections/traces/query.ts'
import { searchTraces } from '#projections/traces/query.ts'
import type { Answered, QueryContext, RangeAnswer, UnderstoodQuery, Walk } from './context.ts'
import {
  indexState,
  invalidParameter,
  normalizeTraceId,
  rangeAnswer,
  resolveWalk,
  understand,
  type IndexState,
} from './context.ts'
import { limitOf, listOf, readParameters, text } from './parameters.ts'
import { parseDurationNs } from './time-range.ts'

const duration = z
  .string()
  .transform((given, context) => {
    const ns = parseDurationNs(given)
    if (ns === undefined) context.addIssue({ code: 'custom', message: 'not a duration such as 200ms, 1.5s, 10us' })
    return ns ?? 0n
  })
  .optional()

/** The filters that trace search and the public listing share (CONTRACT §5, §10). */
export const traceFilters = {
  service: text(256),
  operation: text(1_024),
  q: text(4_096),
  status: z.enum(['ok', 'error', 'unset']).optional(),
  kind: z.enum(['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']).optional(),
  min_duration: duration,
  max_duration: duration,
  trace_id: text(64),
  session_id: text(128),
  has: listOf(z.enum(['logs', 'rum', 'error', 'missing_spans']), 4).optional(),
  from: text(64),
  to: text(64),
  order: z.enum(['newest', 'oldest', 'longest', 'most_spans', 'errors']).default('newest'),
  cursor: text(4_096),
}

const parameters = z.object({
  ...traceFilters,
  limit: limitOf(200, 20),
  include: listOf(z.enum(['histogram', 'facets']), 2).optional(),
})

type TraceParameters = Omit<z.output<typeof parameters>, 'include'>
type Prepared = Readonly<{ walk: Walk; query: UnderstoodQuery; request: TraceRequest }>

/** The checked form of the filters: what the projection is asked, and where the walk stands. */
function prepare(
  context: QueryContext,
  where: Readonly<{ endpoint: string; workspaceId: WorkspaceId; search: string }>,
  given: TraceParameters,
): Result<Prepared, Refusal> {
  const traceId = given.trace_id === undefined ? undefined : normalizeTraceId(given.trace_id)
  if (given.trace_id !== undefined && traceId === undefined) {
    return invalidParameter('trace_id', 'not a trace id: 32 (or 16) hex digits')
  }
  const query = understand(given.q, context.limits)
  if (!query.ok) return query
  const walk = resolveWalk(context, { ...where, byId: traceId !== undefined }, given)
  if (!walk.ok) return walk
  const { fromNs, toNs } = walk.value.range
  const optional = {
    service: given.service,
    operation: given.operation,
    status: given.status,
    kind: given.kind,
    minDurationNs: given.min_duration,
    maxDurationNs: given.max_duration,
    traceId,
    sessionId: given.session_id,
    has: given.has,
    fromNs,
    toNs,
    query: query.value.tree.kind === 'all' ? undefined : query.value.tree,
    after: walk.value.place?.key,
  }
  const request = { ...defined(optional), order: given.order, limit: given.limit } as TraceRequest
  return ok({ walk: walk.value, query: query.value, request })
}

/** Without the properties that are undefined. */
function defined(object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}

export type TracePage = Readonly<{
  traces: readonly object[]
  nextCursor: string | null
  range: RangeAnswer
  query: UnderstoodQuery
  index: IndexState
}>

/** One page of traces, for the app's search and the public listing. */
export async function findTraces(
  context: QueryContext,
  where: Readonly<{ endpoint: string; workspaceId: WorkspaceId; search: string }>,
  given: TraceParameters,
): Promise<Result<TracePage, Refusal>> {
  const prepared = prepare(context, where, given)
  if (!prepared.ok) return prepared
  const { walk, query, request } = prepared.value
  const page = await searchTraces(context.reader, where.workspaceId, request)
  const next = page.next === null ? null : { key: page.next as unknown as Json, ...walk.range }
  return ok({
    traces: page.traces,
    nextCursor: next === null ? null : context.cursors.write(walk.binding, next),
    range: rangeAnswer(walk.range),
    query,
    index: indexState(page.progress, context.clock()),
  })
}

/** GET /api/app/traces/search (CONTRACT §5). */
export async function answerTraceSearch(context: QueryContext, workspaceId: WorkspaceId, search: string): Answered {
  const given = readParameters(search, parameters)
  if (!given.ok) return given
  const page = await findTraces(context, { endpoint: 'traces', workspaceId, search }, given.value)
  if (!page.ok) return page
  const { traces, nextCursor, range, query, index } = page.value
  const { normalized, warnings } = query
  return ok({ traces, next_cursor: nextCursor, range, query: { normalized, warnings }, index })
}
