import { z } from 'zod'
import { levels } from '#src/events/telemetry.ts'
import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Json } from '#src/lib/json.ts'
import type { Result } from '#src/lib/result.ts'
import { ok } from '#src/lib/result.ts'
import type { LogRequest } from '#projections/logs/query.ts'
import { searchLogs } from '#projections/logs/query.ts'
import type { Answered, QueryContext, UnderstoodQuery, Walk } from './context.ts'
import { indexState, invalidParameter, normalizeTraceId, rangeAnswer, resolveWalk, understand } from './context.ts'
import { limitOf, listOf, readParameters, text } from './parameters.ts'

/** The filters that log search and export share (CONTRACT §7, §8). */
export const logFilters = {
  q: text(4_096),
  level: listOf(z.enum(levels), 6).optional(),
  service: text(256),
  trace_id: text(64),
  session_id: text(128),
  from: text(64),
  to: text(64),
  order: z.enum(['desc', 'asc']).default('desc'),
  fields: listOf(z.string().min(1).max(256), 64).optional(),
}

const parameters = z.object({
  ...logFilters,
  limit: limitOf(1_000, 100),
  cursor: text(4_096),
  around: text(256),
  before: limitOf(1_000, 50),
  after: limitOf(1_000, 50),
  include: listOf(z.enum(['histogram', 'facets', 'count']), 3).optional(),
})

type LogParameters = Omit<z.output<typeof parameters>, 'include' | 'around' | 'before' | 'after' | 'limit'>

export type PreparedLogs = Readonly<{ walk: Walk; query: UnderstoodQuery; filters: Omit<LogRequest, 'limit'> }>

/** The checked form of the filters: what the projection is asked, and where the walk stands. */
export function prepareLogs(
  context: QueryContext,
  where: Readonly<{ endpoint: string; workspaceId: WorkspaceId; search: string; byId: boolean }>,
  given: LogParameters,
): Result<PreparedLogs, Refusal> {
  const traceId = given.trace_id === undefined ? undefined : normalizeTraceId(given.trace_id)
  if (given.trace_id !== undefined && traceId === undefined) {
    return invalidParameter('trace_id', 'not a trace id: 32 (or 16) hex digits')
  }
  const query = understand(given.q, context.limits)
  if (!query.ok) return query
  const byId = where.byId || traceId !== undefined || given.session_id !== undefined
  const walk = resolveWalk(context, { ...where, byId }, given)
  if (!walk.ok) return walk
  const { fromNs, toNs } = walk.value.range
  const optional = {
    query: query.value.tree.kind === 'all' ? undefined : query.value.tree,
    levels: given.level,
    service: given.service,
    traceId,
    sessionId: given.session_id,
    fromNs,
    toNs,
    fields: given.fields,
  }
  const present = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined))
  return ok({
    walk: walk.value,
    query: query.value,
    filters: { ...present, order: given.order } as Omit<LogRequest, 'limit'>,
  })
}

/** GET /api/app/logs/search (CONTRACT §7). */
export async function answerLogSearch(context: QueryContext, workspaceId: WorkspaceId, search: string): Answered {
  const given = readParameters(search, parameters)
  if (!given.ok) return given
  const { value } = given
  const where = { endpoint: 'logs', workspaceId, search, byId: value.around !== undefined }
  const prepared = prepareLogs(context, where, value)
  if (!prepared.ok) return prepared
  const { walk, query, filters } = prepared.value
  const around =
    value.around === undefined ? {} : { around: value.around, before: value.before, afterCount: value.after }
  const page = await searchLogs(context.reader, workspaceId, {
    ...filters,
    ...around,
    ...(walk.place === undefined ? {} : { after: walk.place.key }),
    limit: value.limit,
    include: value.include ?? [],
  } as LogRequest)
  const cursor = (key: unknown): string | null =>
    key === null || key === undefined ? null : context.cursors.write(walk.binding, { key: key as Json, ...walk.range })
  const { logs, next, prev, progress, ...included } = page
  return ok({
    logs,
    next_cursor: cursor(next),
    prev_cursor: cursor(prev),
    ...included,
    query: { normalized: query.normalized, warnings: query.warnings },
    range: rangeAnswer(walk.range),
    index: indexState(progress, context.clock()),
  })
}
