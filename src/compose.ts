import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { readUsageAt } from '#projections/allowance/query.ts'
import { createUsedSpans } from '#projections/allowance/used-spans.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { createSqliteQueryThread } from '#projections/stores/sqlite/query-thread.ts'
import { lockFolder } from '#streams/sqlite/lock.ts'
import { createSqliteStream, type SqliteStream } from '#streams/sqlite/stream.ts'
import { createAppRoutes } from './app/routes.ts'
import { foldersOf, type Folders } from './compose-folders.ts'
import { startProjector } from './compose-projector.ts'
import { limits, plans, type Config } from './config.ts'
import { createDirectory, type Directory } from './directory/create-directory.ts'
import type { Key } from './directory/directory.ts'
import { describeFirstRun, prepareFirstRun } from './directory/first-run.ts'
import { createPasswords } from './directory/passwords.ts'
import { loadSecrets, type Secrets } from './directory/secrets.ts'
import { createSessionStore } from './directory/session-store.ts'
import { createHttpApp, type RequestFailure } from './http/app.ts'
import type { Route } from './http/route.ts'
import { createHttpServer, type HttpServer } from './http/server.ts'
import { createSessionMiddleware } from './http/session.ts'
import { createAdmission } from './ingest/admission.ts'
import { createLocalAllowance } from './ingest/local-allowance.ts'
import { createIngestRoutes } from './ingest/routes.ts'
import { createClock, type Clock } from './lib/clock.ts'
import { createCursors } from './query/cursor.ts'
import { createQueryRoutes } from './query/routes.ts'

export type RunningServer = Readonly<{ baseUrl: string; stop(): Promise<void> }>

const partition = '0'
/** How long requests that are under way may take once the server has been told to stop. */
const stopTimeoutMs = 8_000

/** The process cannot go on: what it would answer from now on would be wrong. The next start recovers from the log. */
function giveUp(what: string) {
  return (error: Error): void => {
    console.error(`${what}: ${error.message}; the server ends`)
    process.exit(1)
  }
}

function reportFailure({ requestId, method, path, error }: RequestFailure): void {
  const reason = error instanceof Error ? error.stack : String(error)
  console.error(`${method} ${JSON.stringify(path)} failed (request ${requestId}): ${reason}`)
}

type Engines = Readonly<{
  clock: Clock
  secrets: Secrets
  telemetry: SqliteStream
  directory: Directory
  reader: IndexReader
  close(): Promise<void>
}>

async function openEngines(config: Config, folders: Folders): Promise<Engines> {
  const { dataFolder, sessionKeys } = config
  const secrets = loadSecrets({ dataFolder, random: randomBytes, sessionKeys })
  const clock = createClock()
  mkdirSync(folders.logFolder, { recursive: true })
  const open = (file: string, name: string): Promise<SqliteStream> =>
    createSqliteStream({ file, partition: name, thread: true, limits, onBroken: giveUp(`the log ${file}`) })
  const telemetry = await open(folders.logFile, partition)
  const directoryStream = await open(folders.directoryFile, 'directory')
  const directory = await createDirectory({
    stream: directoryStream,
    clock,
    random: randomBytes,
    pepper: secrets.pepper,
    plans,
    limits,
    passwords: createPasswords({ random: randomBytes }),
    onStop: giveUp('the directory can no longer be followed'),
  })
  const projector = startProjector({ logFile: folders.logFile, partition, indexFolder: folders.indexFolder })
  const reader = createSqliteQueryThread({ folder: folders.indexFolder, limits })
  return {
    clock,
    secrets,
    telemetry,
    directory,
    reader,
    close: async () => {
      await reader.close()
      await projector.stop()
      await directory.close()
      await directoryStream.close()
      await telemetry.close()
    },
  }
}

async function createRoutes(config: Config, engines: Engines): Promise<readonly Route[]> {
  const { clock, secrets, telemetry, directory, reader } = engines
  const gate = createLocalAllowance({
    usedSpans: await createUsedSpans(reader, telemetry),
    isStored: async (id, at) => (await telemetry.find([id], at)).has(id),
    clock,
  })
  const onExposed = (key: Key): void => {
    directory
      .flagExposed(key, '/api/rum/v1/ingest')
      .catch((error: unknown) => console.error('a leaked key could not be flagged:', error))
  }
  const admit = createAdmission({ directory, limits, clock, onExposed })
  return [
    ...createIngestRoutes({
      directory,
      stream: telemetry,
      gate,
      limits,
      clock,
      newId: () => randomBytes(16).toString('hex'),
      onExposed,
    }),
    ...createQueryRoutes({
      reader,
      directory,
      clock,
      limits,
      cursors: createCursors(secrets.pepper),
      admitListing: (ctx) => admit(ctx, 'listing'),
      recordExport: async ({ session: { workspaceId, userId }, query }) => {
        const format = new URLSearchParams(query).get('format') ?? 'ndjson'
        await directory.recordExport({ workspaceId, userId, query, format })
      },
    }),
    ...createAppRoutes({
      directory,
      baseUrl: config.baseUrl,
      clock,
      limits,
      secret: secrets.pepper,
      usage: (workspaceId) => readUsageAt(reader, workspaceId, clock()),
    }),
  ]
}

async function createServer(config: Config, engines: Engines): Promise<HttpServer> {
  const { secrets, directory } = engines
  const session = createSessionMiddleware({
    keys: secrets.sessionKeys,
    secure: config.baseUrl === undefined ? undefined : config.baseUrl.startsWith('https:'),
    store: createSessionStore(directory),
    cookieMaxAgeMs: limits.sessionAbsoluteMs,
    newId: () => randomBytes(24).toString('base64url'),
  })
  const app = createHttpApp({
    routes: await createRoutes(config, engines),
    session,
    random: Math.random,
    trustedProxies: config.trustedProxies,
    report: reportFailure,
  })
  const { tls } = config
  const files = tls === undefined ? {} : { tls: { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) } }
  return createHttpServer(app.callback(), { limits, ...files })
}

async function listen({ server }: HttpServer, { host, port, tls, baseUrl }: Config): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 4_096 }, resolve)
  })
  const address = server.address() as AddressInfo
  const name = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return baseUrl ?? `http${tls === undefined ? '' : 's'}://${name}:${address.port}`
}

/** The embedded form, whole in one process: HTTP here, the log's writer, the projector and the queries in threads. */
export async function composeServer(config: Config): Promise<RunningServer> {
  const { dataFolder } = config
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const lock = lockFolder(dataFolder)
  const engines = await openEngines(config, foldersOf(dataFolder))
  const http = await createServer(config, engines)
  const baseUrl = await listen(http, config)
  const firstRun = await prepareFirstRun({ directory: engines.directory, dataFolder, baseUrl, random: randomBytes })
  if (firstRun !== undefined) console.log(describeFirstRun(firstRun, engines.clock(), randomBytes))
  console.log(`Throughline listening on ${baseUrl} (data in ${dataFolder})`)
  return {
    baseUrl,
    stop: async () => {
      const patience = setTimeout(() => http.server.closeAllConnections(), stopTimeoutMs)
      await http.stop()
      clearTimeout(patience)
      await engines.close()
      lock.release()
    },
  }
}
