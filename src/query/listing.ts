import { z } from 'zod'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { ok } from '#src/lib/result.ts'
import type { Answered, QueryContext } from './context.ts'
import { limitOf, readParameters } from './parameters.ts'
import { findTraces, traceFilters } from './traces.ts'

const parameters = z.object({ ...traceFilters, limit: limitOf(100, 50) })

/** GET /api/v1/traces (CONTRACT §10): the public listing, with a workspace API key. */
export async function answerTraceListing(context: QueryContext, workspaceId: WorkspaceId, search: string): Answered {
  const given = readParameters(search, parameters)
  if (!given.ok) return given
  const page = await findTraces(context, { endpoint: 'listing', workspaceId, search }, given.value)
  if (!page.ok) return page
  const { traces, nextCursor, range, index } = page.value
  return ok({ data: traces, next_cursor: nextCursor, has_more: nextCursor !== null, range, index })
}
