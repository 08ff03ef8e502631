import type { Context } from 'koa'
import { TooBroadError } from '#projections/index-store.ts'
import type { Feature, Session } from '#src/directory/directory.ts'
import { checkEntitlement } from '#src/directory/entitlement.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Route } from '#src/http/route.ts'
import { requireSession } from '#src/http/session.ts'
import { present } from '#src/lib/assert.ts'
import { createGate, type Gate } from '#src/lib/gate.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { fail, type Result } from '#src/lib/result.ts'
import type { Answered, QueryContext } from './context.ts'
import { answerCorrelation } from './correlation.ts'
import { answered, answerLogExport } from './export.ts'
import { answerTraceListing } from './listing.ts'
import { answerLogSearch } from './logs.ts'
import { answerTraceSearch } from './traces.ts'

export type QueryOptions = QueryContext &
  Readonly<{
    /** Lets a request to the public listing in by its workspace API key, and sets its `RateLimit` headers. */
    admitListing: (ctx: Context) => Result<Readonly<{ workspaceId: WorkspaceId }>, Refusal>
    /** The audit entry of an export; durable when it resolves. */
    recordExport: (exported: Readonly<{ session: Session; query: string }>) => Promise<void>
  }>

function sendAnswer(ctx: Context, body: object): void {
  ctx.status = 200
  ctx.set('Content-Type', 'application/json')
  ctx.set('Cache-Control', 'no-store')
  ctx.body = stringifyJson(body)
}

/** Runs a query among the few that a workspace may have under way; one that is too broad is refused, not failed. */
async function runQuery(gate: Gate, workspaceId: WorkspaceId, query: () => Answered): Answered {
  const leave = gate.enter(workspaceId)
  if (leave === undefined) {
    return fail(refusal('rate_limited', 'This workspace has too many queries under way at once.', { retryAfterS: 1 }))
  }
  try {
    return await query()
  } catch (error) {
    if (error instanceof TooBroadError) return fail(refusal('query_too_broad', error.message))
    throw error
  } finally {
    leave()
  }
}

type Answer = (context: QueryContext, workspaceId: WorkspaceId, search: string) => Answered

/** The read routes of INTERFACE §4: they ask projections only, inside the workspace of the session or the key. */
export function createQueryRoutes(options: QueryOptions): readonly Route[] {
  const { directory, limits, admitListing, recordExport } = options
  const queries = createGate(limits.queriesPerWorkspaceAtOnce)
  const exports = createGate(limits.exportsPerWorkspaceAtOnce)

  const sessionHere = (ctx: Context): Session => {
    const session = requireSession(ctx)
    return present(session.ok ? session.value : undefined, 'a session route has a session')
  }

  const search = (path: string, feature: Feature | undefined, answer: Answer): Route => ({
    method: 'GET',
    path,
    auth: 'session',
    handler: async (ctx) => {
      const { workspaceId } = sessionHere(ctx)
      const refused = checkEntitlement(directory.workspace(workspaceId), feature === undefined ? [] : [feature])
      if (refused !== undefined) return refused
      const result = await runQuery(queries, workspaceId, () => answer(options, workspaceId, ctx.querystring))
      return result.ok ? sendAnswer(ctx, result.value) : result.error
    },
  })

  const listing: Route = {
    method: 'GET',
    path: '/api/v1/traces',
    auth: 'key',
    handler: async (ctx) => {
      const admitted = admitListing(ctx)
      if (!admitted.ok) return admitted.error
      const { workspaceId } = admitted.value
      const result = await runQuery(queries, workspaceId, () =>
        answerTraceListing(options, workspaceId, ctx.querystring),
      )
      return result.ok ? sendAnswer(ctx, result.value) : result.error
    },
  }

  const logExport: Route = {
    method: 'GET',
    path: '/app/logs/export',
    auth: 'session',
    signInPage: '/app/sign-in',
    handler: async (ctx) => {
      const session = sessionHere(ctx)
      const refused = checkEntitlement(directory.workspace(session.workspaceId), ['logs'])
      if (refused !== undefined) return refused
      const leave = exports.enter(session.workspaceId)
      if (leave === undefined) {
        return refusal('rate_limited', 'This workspace has too many exports under way at once.', { retryAfterS: 4 })
      }
      const audit = (): Promise<void> => recordExport({ session, query: ctx.querystring })
      try {
        const result = await answerLogExport(options, session, ctx, audit)
        if (result === undefined) void answered(ctx).then(leave, leave)
        else leave()
        return result
      } catch (error) {
        leave()
        if (error instanceof TooBroadError) return refusal('query_too_broad', error.message)
        throw error
      }
    },
  }

  return [
    search('/api/app/traces/search', 'tracing', answerTraceSearch),
    search('/api/app/correlation', undefined, answerCorrelation),
    search('/api/app/logs/search', 'logs', answerLogSearch),
    logExport,
    listing,
  ]
}
