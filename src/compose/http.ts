import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ConfigError, dutiesOf, limits, type Config } from '#src/config.ts'
import { createSessionStore } from '#src/directory/session-store.ts'
import { createHttpApp } from '#src/http/app.ts'
import type { Route } from '#src/http/route.ts'
import { createHttpServer, type HttpServer } from '#src/http/server.ts'
import { createSessionMiddleware } from '#src/http/session.ts'
import { createClock, systemTicks } from '#src/lib/clock.ts'
import { createBareAddressRoutes } from '#src/ingest/otlp.ts'
import type { Metrics } from '#src/operations/metrics.ts'
import type { Engines } from './engines.ts'
import { createFailureReport } from './failure.ts'
import { connectionsMax } from './open-files.ts'
import { createTroubles } from './troubles.ts'

const backlog = 4_096

/** The routes of this role: a role loads no other's. */
async function routesOf(config: Config, engines: Engines, metrics: Metrics): Promise<readonly Route[]> {
  const { takesIn, answers } = dutiesOf(config)
  return [
    ...(takesIn ? (await import('./ingest-routes.ts')).ingestRoutes(engines, metrics) : []),
    ...(answers ? (await import('./query-routes.ts')).queryRoutes(config, engines) : []),
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

/** Seconds. A search may take a minute before it is broken off. */
const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** How many connections there may be, and what the operator hears of those that are closed or refused. */
function boundOf(metrics: Metrics) {
  const max = connectionsMax()
  const troubles = createTroubles({ clock: createClock() })
  const counted = metrics.counter('throughline_http_connections_closed_total', 'Connections closed for being too many.')
  const count = (what: string, by: number): void => counted({ connections: what }, by)
  for (const what of ['idle', 'new']) count(what, 0)
  const hint = 'for more, raise that limit (ulimit -n)'
  return {
    connectionsMax: max,
    onClosed: (closed: number): void => {
      count('idle', closed)
      const of = `more than ${max} connections, a quarter of the files that this process may open`
      troubles.hear('idle connections', `${of}: those idle for longest are closed for others; ${hint}`)
    },
    onRefused: (): void => {
      count('new', 1)
      const of = `more than ${2 * max} connections at once, half of the files that this process may open`
      troubles.hear('new connections', `${of}: new ones are refused; ${hint}`)
    },
  }
}

/** The HTTP server of a worker, not listening yet. */
export async function createWorkerHttp(config: Config, engines: Engines, metrics: Metrics): Promise<HttpServer> {
  const { secrets, directory } = engines
  const answered = metrics.counter('throughline_http_requests_total', 'Requests answered, by route and status.')
  const took = metrics.histogram(
    'throughline_http_request_seconds',
    'Time until an answer began, by route.',
    secondsBounds,
  )
  const session = createSessionMiddleware({
    keys: secrets.sessionKeys,
    secure: config.baseUrl?.startsWith('https:') ?? (config.tls === undefined ? undefined : true),
    store: createSessionStore(directory),
    cookieMaxAgeMs: limits.sessionAbsoluteMs,
    newId: () => randomBytes(24).toString('base64url'),
  })
  const routes = await routesOf(config, engines, metrics)
  // A sender that is refused is counted from the start (operations/metrics.ts).
  for (const { method, path } of routes.filter((route) => route.method === 'POST' && route.path.startsWith('/api/')))
    answered({ method, route: path, status: '503' }, 0)
  const app = createHttpApp({
    routes,
    session,
    random: Math.random,
    trustedProxies: config.trustedProxies,
    report: createFailureReport(systemTicks),
    observe: ({ method, route, status, seconds }) => {
      answered({ method, route, status: String(status) })
      took({ method, route }, seconds)
    },
  })
  const tls = config.tls === undefined ? {} : { tls: readTls(config.tls) }
  const server = createHttpServer(app.callback(), { limits, ...tls, ...boundOf(metrics) })
  metrics.gauge('throughline_http_connections', 'Connections that are open.', server.connections)
  return server
}

/** Listens on a bound socket that this process has inherited. */
export async function listenOn({ server }: HttpServer, fd: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ fd, backlog }, resolve)
  })
}
