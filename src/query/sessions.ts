import { z } from 'zod'
import { searchSessions, type SessionPage, type WalkKey } from '#projections/correlation/query.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { ok } from '#src/lib/result.ts'
import { cursorAt, defined, indexState, resolveWalk, understand, type Answered, type QueryContext } from './context.ts'
import { limitOf, listOf, readParameters, shared, text } from './parameters.ts'
import { rangeAnswer } from './time-range.ts'
import type { TraceSearchAnswer } from './trace-answer.ts'

/** The most browser records that a page is made of, and the most sessions that it lists. */
const recordsMax = 2_000
const sessionsMax = 200

const sessionSearchParameters = z.object({
  q: shared.q,
  service: text(1_024),
  has: listOf(z.enum(['error']), 1),
  from: shared.from,
  to: shared.to,
  cursor: shared.cursor,
  /** How many records are read for a page. */
  limit: limitOf(recordsMax, recordsMax),
})

export type SessionSearchAnswer = Pick<TraceSearchAnswer, 'next_cursor' | 'query' | 'range' | 'index'> &
  Readonly<{
    /** The sessions that were asked for. */
    sessions: SessionPage['sessions']
    /** The records that were read for the page, and how many sessions they belong to. */
    read: SessionPage['read'] & Readonly<{ session_count: number }>
  }>

/** The newest browser sessions, for a page; not an endpoint of the API. */
export async function answerSessionSearch(
  context: QueryContext,
  workspaceId: WorkspaceId,
  search: string,
): Answered<SessionSearchAnswer> {
  const given = readParameters(search, sessionSearchParameters)
  if (!given.ok) return given
  const { q, service, has = [], limit } = given.value
  const understood = understand(q, context.limits)
  if (!understood.ok) return understood
  const { tree, normalized, warnings } = understood.value
  const walk = resolveWalk(context, { endpoint: 'sessions', workspaceId, search, byId: false }, given.value)
  if (!walk.ok) return walk
  const { place, range } = walk.value
  const askedAt = context.clock()
  const { sessions, read, next, progress } = await searchSessions(context.readerOf(workspaceId), workspaceId, {
    ...defined({
      query: tree.kind === 'all' ? undefined : tree,
      service,
      after: place?.key as WalkKey | undefined,
    }),
    ...range,
    omitsLogs: context.directory.workspace(workspaceId)?.plan.features.includes('logs') !== true,
    recordsMax: limit,
    sessionsMax,
  })
  return ok({
    sessions: has.includes('error') ? sessions.filter(({ error_count: errors }) => errors > 0) : sessions,
    read: { ...read, session_count: sessions.length },
    next_cursor: next === null ? null : cursorAt(context, walk.value, next),
    query: { normalized, warnings },
    range: rangeAnswer(range),
    index: indexState(progress, askedAt),
  })
}
