import { z } from 'zod'
import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Json } from '#src/lib/json.ts'
import { ok, type Result } from '#src/lib/result.ts'
import {
  searchTraces,
  unmetIdPatterns,
  type TracePage,
  type TraceRequest,
  type WalkKey,
} from '#projections/traces/query.ts'
import {
  cursorAt,
  defined,
  indexState,
  resolveWalk,
  understand,
  type Answered,
  type QueryContext,
  type Walk,
  type Where,
} from './context.ts'
import { duration, invalidParameter, limitOf, listOf, readParameters, shared, text } from './parameters.ts'
import { farFutureNs, rangeAnswer } from './time-range.ts'
import { spanStatuses, type TraceSearchAnswer } from './trace-answer.ts'
import { spanKinds } from '#src/events/telemetry.ts'

/** The filters that trace search and the public listing share. */
export const traceFilters = {
  service: text(1_024),
  operation: text(1_024),
  q: shared.q,
  status: z.enum(spanStatuses).optional(),
  kind: z.enum(spanKinds).optional(),
  min_duration: duration.meta({
    description:
      'At least this long: ns, us, ms, s, m, h. Of a span, where a condition on spans (service, operation, q, status, kind) is given too: one span must meet them all. Otherwise of the trace.',
    examples: ['200ms', '1.5s'],
  }),
  max_duration: duration.meta({ description: 'At most this long, of what `min_duration` speaks of.' }),
  trace_id: shared.trace_id,
  session_id: shared.session_id,
  has: listOf(z.enum(['logs', 'rum', 'error', 'missing_spans']), 4).meta({ description: 'Each of these must be so.' }),
  from: shared.from,
  to: shared.to,
  order: z.enum(['newest', 'oldest', 'longest', 'most_spans', 'errors']).default('newest').meta({
    description:
      'newest and oldest: by the start of the trace; with conditions on spans, by that of its newest, or oldest, span that meets them.',
  }),
  cursor: shared.cursor,
}

export const traceSearchParameters = z.object({
  ...traceFilters,
  limit: limitOf(200, 20),
  include: listOf(z.enum(['histogram', 'facets']), 2),
})

type Given = z.output<typeof traceSearchParameters>

const patternWarning = (name: string): string =>
  `Ids are found whole or by how they begin (${name}:5b8e*): this pattern of ${name} is met by none.`

type Prepared = Readonly<{ walk: Walk; query: TraceSearchAnswer['query']; request: TraceRequest }>

/** The checked filters: the projection's request, and the place in the walk. */
function prepare(context: QueryContext, where: Where, given: Given): Result<Prepared, Refusal> {
  const { min_duration: minDurationNs, max_duration: maxDurationNs, session_id: sessionId } = given
  if (minDurationNs !== undefined && maxDurationNs !== undefined && minDurationNs > maxDurationNs) {
    return invalidParameter('min_duration', 'is above max_duration')
  }
  const understood = understand(given.q, context.limits, (parsed) => unmetIdPatterns(parsed).map(patternWarning))
  if (!understood.ok) return understood
  const { tree, normalized, warnings } = understood.value
  const byId = given.trace_id !== undefined || sessionId !== undefined
  const walk = resolveWalk(context, { ...where, byId }, given)
  if (!walk.ok) return walk
  const { place, range } = walk.value
  const request = {
    ...defined({
      service: given.service,
      operation: given.operation,
      status: given.status,
      kind: given.kind,
      minDurationNs,
      maxDurationNs,
      traceId: given.trace_id,
      sessionId,
      has: given.has,
      query: tree.kind === 'all' ? undefined : tree,
      include: given.include,
      after: place?.key as WalkKey | undefined,
    }),
    ...range,
    order: given.order,
    limit: given.limit,
    farNs: farFutureNs(context.clock()),
  }
  return ok({ walk: walk.value, query: { normalized, warnings }, request })
}

type FoundTraces = Readonly<{
  page: TracePage
  nextCursor: string | null
  rest: Pick<TraceSearchAnswer, 'query' | 'range' | 'index'>
}>

/** One page of traces, for the app's search and the public listing. */
export async function findTraces(
  context: QueryContext,
  where: Where,
  given: Given,
): Promise<Result<FoundTraces, Refusal>> {
  const prepared = prepare(context, where, given)
  if (!prepared.ok) return prepared
  const { walk, query, request } = prepared.value
  const askedAt = context.clock()
  const page = await searchTraces(context.readerOf(where.workspaceId), where.workspaceId, request)
  return ok({
    page,
    nextCursor: page.next === null ? null : cursorAt(context, walk, page.next as unknown as Json),
    rest: { query, range: rangeAnswer(walk.range), index: indexState(page.progress, askedAt) },
  })
}

/** GET /api/app/traces/search. */
export async function answerTraceSearch(
  context: QueryContext,
  workspaceId: WorkspaceId,
  search: string,
): Answered<TraceSearchAnswer> {
  const given = readParameters(search, traceSearchParameters)
  if (!given.ok) return given
  const found = await findTraces(context, { endpoint: 'traces', workspaceId, search }, given.value)
  if (!found.ok) return found
  const { page, nextCursor, rest } = found.value
  const { traces, next: _next, progress: _progress, ...included } = page
  return ok({ traces, next_cursor: nextCursor, ...included, ...rest })
}
