import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { allowanceProjection } from '#projections/allowance/fold.ts'
import { ofOneWorkspace } from '#src/app/other-workspace.ts'
import { createRefusePage } from '#src/app/refuse-page.ts'
import { createAppRoutes } from '#src/app/routes.ts'
import { ConfigError, limits, type Config } from '#src/config.ts'
import type { Key } from '#src/directory/directory.ts'
import { keepingOf } from '#src/directory/plans.ts'
import { createSessionStore } from '#src/directory/session-store.ts'
import { firstDayKept } from '#src/events/retention.ts'
import { createHttpApp } from '#src/http/app.ts'
import type { Route } from '#src/http/route.ts'
import { createHttpServer, type HttpServer } from '#src/http/server.ts'
import { createSessionMiddleware } from '#src/http/session.ts'
import { createAdmission } from '#src/ingest/admission.ts'
import { createBareAddressRoutes } from '#src/ingest/otlp.ts'
import { createIngestRoutes } from '#src/ingest/routes.ts'
import { present } from '#src/lib/assert.ts'
import { systemTicks } from '#src/lib/clock.ts'
import type { Metrics } from '#src/operations/metrics.ts'
import { createStreamObserver } from '#src/operations/observed-stream.ts'
import { createCursors } from '#src/query/cursor.ts'
import { createReads } from '#src/query/reads.ts'
import { createQueryRoutes } from '#src/query/routes.ts'
import { createSearches } from '#src/query/searches.ts'
import type { Engines } from './engines.ts'
import { reportFailure } from './failure.ts'

const backlog = 4_096

/** The ingest routes. */
function ingestRoutes({ clock, directory, streams, allowances }: Engines, metrics: Metrics): readonly Route[] {
  const observed = createStreamObserver(metrics)
  const onExposed = (key: Key): void => {
    directory
      .flagExposed(key, '/api/rum/v1/ingest')
      .catch((error: unknown) => console.error('a leaked key could not be flagged:', error))
  }
  return createIngestRoutes({
    directory,
    partitions: streams.map((stream, partition) => ({
      stream: observed(stream),
      gate: present(allowances[partition], 'a partition has an allowance'),
    })),
    limits,
    clock,
    ticks: systemTicks,
    newId: () => randomUUID().replaceAll('-', ''),
    onExposed,
  })
}

/** The query routes, and the pages. */
function queryRoutes(config: Config, { clock, secrets, directory, readerOf }: Engines): readonly Route[] {
  // `onExposed` is never called here: only browser events are sent from where a secret key would be exposed.
  const admit = createAdmission({ directory, limits, ticks: systemTicks, onExposed: () => undefined })
  const context = { readerOf, directory, clock, limits, cursors: createCursors(secrets.pepper) }
  const searches = createSearches(context)
  const reads = createReads(limits)
  return [
    ...createQueryRoutes({
      ...context,
      searches,
      reads,
      refuseExport: createRefusePage({ directory }),
      admitListing: (ctx) => admit(ctx, 'listing'),
      recordExport: async ({ session: { workspaceId, userId }, query }) => {
        const format = new URLSearchParams(query).get('format') ?? 'ndjson'
        await directory.recordExport({ workspaceId, userId, query, format })
      },
    }).map(ofOneWorkspace({ directory })),
    ...createAppRoutes({
      directory,
      baseUrl: config.baseUrl,
      clock,
      ticks: systemTicks,
      limits,
      secret: secrets.pepper,
      searches,
      query: reads.query,
      readerOf,
      usageKeptFrom: (workspace) => firstDayKept(keepingOf(workspace), clock(), allowanceProjection.keptDaysMin),
    }),
  ]
}

/** The routes of this role. */
function routesOf(config: Config, engines: Engines, metrics: Metrics): readonly Route[] {
  const { role } = config
  return [
    ...(role === 'ingest' || role === 'all' ? ingestRoutes(engines, metrics) : []),
    ...(role === 'query' || role === 'all' ? queryRoutes(config, engines) : []),
    ...createBareAddressRoutes(),
  ]
}

/** The files for TLS. Throws ConfigError if they cannot be read, or do not belong together. */
function readTls({ certFile, keyFile }: NonNullable<Config['tls']>): Readonly<{ cert: Buffer; key: Buffer }> {
  try {
    const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
    createSecureContext(files)
    return files
  } catch (error) {
    throw new ConfigError(`TLS_CERT and TLS_KEY: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The HTTP server of a worker, not listening yet. */
export function createWorkerHttp(config: Config, engines: Engines, metrics: Metrics): HttpServer {
  const { secrets, directory } = engines
  const answered = metrics.counter('throughline_http_requests_total', 'Requests answered, by route and status.')
  const session = createSessionMiddleware({
    keys: secrets.sessionKeys,
    secure: config.baseUrl?.startsWith('https:') ?? (config.tls === undefined ? undefined : true),
    store: createSessionStore(directory),
    cookieMaxAgeMs: limits.sessionAbsoluteMs,
    newId: () => randomBytes(24).toString('base64url'),
  })
  const app = createHttpApp({
    routes: routesOf(config, engines, metrics),
    session,
    random: Math.random,
    trustedProxies: config.trustedProxies,
    report: reportFailure,
    observe: ({ method, route, status }) => answered({ method, route, status: String(status) }),
  })
  const tls = config.tls === undefined ? {} : { tls: readTls(config.tls) }
  return createHttpServer(app.callback(), { limits, ...tls })
}

/** Listens on a bound socket that this process has inherited. */
export async function listenOn({ server }: HttpServer, fd: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ fd, backlog }, resolve)
  })
}
