import { z } from 'zod'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { levels } from '#src/events/telemetry.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { searchLogs, timesAsText, type LogFilters, type LogRequest } from '#projections/logs/query.ts'
import {
  andLater,
  count,
  cursor,
  facets,
  indexState as indexStateSchema,
  level,
  logItem,
  query,
  range,
  timestamp,
  type AnswerOf,
} from './answer-parts.ts'
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
import { countOf, invalidParameter, limitOf, listOf, readParameters, shared, text } from './parameters.ts'
import { farFutureNs, rangeAnswer } from './time-range.ts'

/** The filters that log search and export share. */
export const logFilters = {
  q: shared.q,
  level: listOf(z.enum(levels), 6).meta({ description: 'Any of these.' }),
  service: text(1_024),
  trace_id: shared.trace_id,
  session_id: shared.session_id,
  from: shared.from,
  to: shared.to,
  order: z.enum(['desc', 'asc']).default('desc').meta({ description: 'By time: the newest first, or the oldest.' }),
  fields: listOf(z.string().min(1).max(256), 64).meta({
    description: 'Only these of the free fields, by dotted names; one with a comma in it stands in quotes.',
  }),
}

const neighbours = 50
const neighboursOf = (side: string) =>
  countOf(0, 1_000)
    .optional()
    .meta({ description: `How many ${side} records \`around\` shows; ${neighbours} if not given.` })

export const logSearchParameters = z.object({
  ...logFilters,
  limit: limitOf(1_000, 100),
  cursor: shared.cursor,
  around: text(256).meta({ description: 'The id of a log record: it and its neighbours in time.' }),
  before: neighboursOf('older'),
  after: neighboursOf('newer'),
  include: listOf(z.enum(['histogram', 'facets', 'count']), 3),
})

export const logSearchAnswer = z
  .object({
    logs: z.array(
      logItem.extend({
        highlights: z.array(z.object({ start: count, end: count })).meta({
          description: 'Where the search met the message: UTF-16 units, the end not included.',
        }),
      }),
    ),
    next_cursor: cursor,
    prev_cursor: z.string().meta({ description: 'Follows by arrival: what has come since, late records too.' }),
    histogram: z
      .object({
        step_ms: count,
        buckets: z.array(
          z.object({
            time: timestamp,
            total: count,
            by_level: z.partialRecord(level, count),
            and_later: andLater,
          }),
        ),
      })
      .optional(),
    facets: facets.optional(),
    count: count.optional(),
    query,
    range,
    index: indexStateSchema,
  })
  .meta({ id: 'LogSearchAnswer' })

export type LogSearchAnswer = AnswerOf<typeof logSearchAnswer>

type Given = Pick<z.output<typeof logSearchParameters>, keyof typeof logFilters | 'cursor'>

type PreparedLogs = Readonly<{
  walk: Walk
  query: LogSearchAnswer['query']
  filters: LogFilters
}>

const timeWarning = (part: string): string =>
  `The time of a log is chosen by from and to, and not searched as text: ${part} looks in other fields alone.`

/** The checked filters: the projection's request, and the place in the walk. */
export function prepareLogs(
  context: QueryContext,
  where: Where & Readonly<{ byId: boolean }>,
  given: Given,
): Result<PreparedLogs, Refusal> {
  const understood = understand(given.q, context.limits, (parsed) => timesAsText(parsed).map(timeWarning))
  if (!understood.ok) return understood
  const { tree, normalized, warnings } = understood.value
  const byId = where.byId || given.trace_id !== undefined || given.session_id !== undefined
  const walk = resolveWalk(context, { ...where, byId }, given)
  if (!walk.ok) return walk
  const filters = {
    ...defined({
      query: tree.kind === 'all' ? undefined : tree,
      levels: given.level,
      service: given.service,
      traceId: given.trace_id,
      sessionId: given.session_id,
      fields: given.fields,
    }),
    ...walk.value.range,
    order: given.order,
  }
  return ok({ walk: walk.value, query: { normalized, warnings }, filters })
}

/** The requested neighbours. `before` and `after` are refused without `around`. */
function readNeighbours(
  given: z.output<typeof logSearchParameters>,
): Result<Pick<LogRequest, 'around' | 'before' | 'afterCount'>, Refusal> {
  const { around, before, after } = given
  if (around !== undefined) return ok({ around, before: before ?? neighbours, afterCount: after ?? neighbours })
  const alone = (['before', 'after'] as const).find((side) => given[side] !== undefined)
  return alone === undefined ? ok({}) : invalidParameter(alone, 'belongs to around')
}

const anotherLog =
  'This cursor is of a log that went further than the one that is here. It is followed anew, from its end.'

/** GET /api/app/logs/search. */
export async function answerLogSearch(
  context: QueryContext,
  workspaceId: WorkspaceId,
  search: string,
): Answered<LogSearchAnswer> {
  const given = readParameters(search, logSearchParameters)
  if (!given.ok) return given
  const { around, limit, include } = given.value
  const sides = readNeighbours(given.value)
  if (!sides.ok) return sides
  const where = { endpoint: 'logs', workspaceId, search, byId: around !== undefined }
  const prepared = prepareLogs(context, where, given.value)
  if (!prepared.ok) return prepared
  const { walk, query } = prepared.value
  const askedAt = context.clock()
  const page = await searchLogs(context.readerOf(workspaceId), workspaceId, {
    ...prepared.value.filters,
    ...sides.value,
    ...defined({ after: walk.place?.key, include }),
    farNs: farFutureNs(askedAt),
    limit,
  })
  const { logs, next, prev, beginsAnew, progress, ...included } = page
  if (around !== undefined && walk.place === undefined && logs.length === 0) {
    return fail(refusal('not_found', `This workspace has no log record ${JSON.stringify(around)}.`))
  }
  return ok({
    logs,
    next_cursor: next === null ? null : cursorAt(context, walk, next),
    prev_cursor: cursorAt(context, walk, prev),
    ...included,
    query: beginsAnew === true ? { ...query, warnings: [...query.warnings, anotherLog] } : query,
    range: rangeAnswer(walk.range),
    index: indexState(progress, askedAt),
  })
}
