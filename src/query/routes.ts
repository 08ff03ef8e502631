import type { Context } from 'koa'
import type { Session } from '#src/directory/directory.ts'
import { checkEntitlementNow } from '#src/directory/entitlement.ts'
import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Route } from '#src/http/route.ts'
import { sessionHere } from '#src/http/session.ts'
import { jsonInTurns } from '#src/lib/in-turns.ts'
import type { Result } from '#src/lib/result.ts'
import type { Answered, QueryContext } from './context.ts'
import { answerLogExport } from './export.ts'
import type { Reads } from './reads.ts'
import { tooBroad, type Searches } from './searches.ts'

type QueryOptions = QueryContext &
  Readonly<{
    /** Admits a request to the public listing by its workspace API key, and sets its `RateLimit` headers. */
    admitListing: (ctx: Context) => Promise<Result<Readonly<{ workspaceId: WorkspaceId }>, Refusal>>
    /** Writes the audit entry of an export; durable when it resolves. */
    recordExport: (exported: Readonly<{ session: Session; query: string; format: string }>) => Promise<void>
    /** Shared with the pages. */
    searches: Searches
    reads: Reads
    /** How to refuse an export to a person: a page links to it. By default like any other refusal. */
    refuseExport?: NonNullable<Route['refuse']>
  }>

async function sendAnswer(ctx: Context, asked: Answered): Promise<Refusal | void> {
  const result = await asked
  if (!result.ok) return result.error
  ctx.status = 200
  ctx.set('Content-Type', 'application/json')
  ctx.set('Cache-Control', 'no-store')
  ctx.body = await jsonInTurns(result.value)
}

/** The read routes. They only query projections, within the workspace of the session or the key. */
export function createQueryRoutes(options: QueryOptions): readonly Route[] {
  const { directory, searches, reads, admitListing, recordExport, refuseExport } = options

  const search = (path: string, ask: (workspaceId: WorkspaceId, search: string) => Answered): Route => ({
    method: 'GET',
    path,
    auth: 'session',
    handler: async (ctx) => {
      const { workspaceId } = sessionHere(ctx)
      return reads.query(ctx, workspaceId, () => sendAnswer(ctx, ask(workspaceId, ctx.querystring)))
    },
  })

  const listing: Route = {
    method: 'GET',
    path: '/api/v1/traces',
    auth: 'key',
    handler: async (ctx) => {
      const admitted = await admitListing(ctx)
      if (!admitted.ok) return admitted.error
      const { workspaceId } = admitted.value
      return reads.query(ctx, workspaceId, () => sendAnswer(ctx, searches.listing(workspaceId, ctx.querystring)))
    },
  }

  const logExport: Route = {
    method: 'GET',
    path: '/app/logs/export',
    auth: 'session',
    signInPage: '/app/sign-in',
    ...(refuseExport === undefined ? {} : { refuse: refuseExport }),
    handler: async (ctx) => {
      const session = sessionHere(ctx)
      const refused = await checkEntitlementNow(directory, session.workspaceId, ['logs'])
      if (refused !== undefined) return refused
      const audit = (format: string): Promise<void> => recordExport({ session, query: ctx.querystring, format })
      return reads.export(ctx, session.workspaceId, () => answerLogExport(options, session, ctx, audit).catch(tooBroad))
    },
  }

  return [
    search('/api/app/traces/search', searches.traces),
    search('/api/app/correlation', searches.correlation),
    search('/api/app/logs/search', searches.logs),
    logExport,
    listing,
  ]
}
