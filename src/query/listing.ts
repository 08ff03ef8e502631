import { z } from 'zod'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { ok } from '#src/lib/result.ts'
import type { Answered, QueryContext } from './context.ts'
import { limitOf, readParameters } from './parameters.ts'
import type { TraceListingAnswer } from './trace-answer.ts'
import { findTraces, traceFilters } from './traces.ts'

export const traceListingParameters = z.object({ ...traceFilters, limit: limitOf(100, 50) })

/** GET /api/v1/traces: the public listing, with a workspace API key. */
export async function answerTraceListing(
  context: QueryContext,
  workspaceId: WorkspaceId,
  search: string,
): Answered<TraceListingAnswer> {
  const given = readParameters(search, traceListingParameters)
  if (!given.ok) return given
  const found = await findTraces(
    context,
    { endpoint: 'listing', workspaceId, search },
    { ...given.value, include: undefined },
  )
  if (!found.ok) return found
  const { page, nextCursor, rest } = found.value
  return ok({ data: page.traces, next_cursor: nextCursor, has_more: nextCursor !== null, ...rest })
}
