import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { readUsageAt } from '#projections/allowance/query.ts'
import { createUsedSpans, type UsedSpans } from '#projections/allowance/used-spans.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { createSqliteQueryThread } from '#projections/stores/sqlite/query-thread.ts'
import { joinFolder } from '#streams/sqlite/lock.ts'
import { createSqliteStream, type SqliteStream } from '#streams/sqlite/stream.ts'
import { createAppRoutes } from './app/routes.ts'
import { foldersOf, type Folders } from './compose-folders.ts'
import { createProjectorThread, type ProjectorThread } from './compose-projector.ts'
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
import type { AllowanceGate } from './ingest/allowance.ts'
import { createLocalAllowance } from './ingest/local-allowance.ts'
import { createMovableAllowance, type MovableAllowance } from './ingest/movable-allowance.ts'
import { createIngestRoutes } from './ingest/routes.ts'
import { partitionOf } from './events/partition.ts'
import { createClock, type Clock } from './lib/clock.ts'
import { createCursors } from './query/cursor.ts'
import { createQueryRoutes } from './query/routes.ts'

/** Where the server listens: a bound socket that this process has inherited, and the address that others know it by. */
export type Place = Readonly<{ fd: number; baseUrl: string }>

/**
 * The embedded server of one worker process. It opens everything and serves nobody until it is told to take over; of all
 * workers on a data folder one at a time folds the log and owns the span allowance. See src/README.md.
 */
export type EmbeddedServer = Readonly<{
  /**
   * Begins to fold, to keep the allowance by what the log holds, and to listen; resolves with its allowance, for others to ask.
   * The other workers must have let go. One that has let go may take over again.
   */
  takeOver(place: Place): Promise<AllowanceGate>
  /**
   * Stops folding and begins no reservation. True when all of it is over; false when reservations were still open after some
   * seconds: then it goes on as before.
   */
  letGo(): Promise<boolean>
  /** Goes on as before `letGo`. */
  resume(): void
  /** The allowance that it asks is gone; it waits for `resign`. */
  loseAllowance(): void
  /**
   * Another worker has taken over: asks its allowance, takes no more connections, ends each with its next answer. Resolves when
   * the last is gone and everything is closed.
   */
  resign(allowance: AllowanceGate): Promise<void>
  /** Answers what is under way, for at most that long, and closes everything. */
  stop(patienceMs: number): Promise<void>
}>

const partition = '0'
/** How long others wait for the reservations of requests that are under way. */
const letGoTimeoutMs = 5_000
const backlog = 4_096

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
  projector: ProjectorThread
  reader: IndexReader
  allowance: MovableAllowance
  usedSpans: UsedSpans
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
  const projector = createProjectorThread({ logFile: folders.logFile, partition, indexFolder: folders.indexFolder })
  const reader = createSqliteQueryThread({ folder: folders.indexFolder, limits })
  return {
    clock,
    secrets,
    telemetry,
    directory,
    projector,
    reader,
    allowance: createMovableAllowance({ waitingMax: limits.appendQueueEventsMax }),
    // Mostly read here, so that little is left to read when this worker takes over and others wait for it.
    usedSpans: await createUsedSpans(reader, telemetry),
    close: async () => {
      await reader.close()
      await projector.stop()
      await directory.close()
      await directoryStream.close()
      await telemetry.close()
    },
  }
}

function createRoutes(config: Config, engines: Engines): readonly Route[] {
  const { clock, secrets, telemetry, directory, reader, allowance } = engines
  const onExposed = (key: Key): void => {
    directory
      .flagExposed(key, '/api/rum/v1/ingest')
      .catch((error: unknown) => console.error('a leaked key could not be flagged:', error))
  }
  const admit = createAdmission({ directory, limits, clock, onExposed })
  return [
    ...createIngestRoutes({
      directory,
      partitions: [{ stream: telemetry, gate: allowance }],
      limits,
      clock,
      newId: () => randomBytes(16).toString('hex'),
      onExposed,
    }),
    ...createQueryRoutes({
      readerOf: partitionOf([reader]),
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

function createServer(config: Config, engines: Engines): HttpServer {
  const { secrets, directory } = engines
  const session = createSessionMiddleware({
    keys: secrets.sessionKeys,
    secure: config.baseUrl === undefined ? undefined : config.baseUrl.startsWith('https:'),
    store: createSessionStore(directory),
    cookieMaxAgeMs: limits.sessionAbsoluteMs,
    newId: () => randomBytes(24).toString('base64url'),
  })
  const app = createHttpApp({
    routes: createRoutes(config, engines),
    session,
    random: Math.random,
    trustedProxies: config.trustedProxies,
    report: reportFailure,
  })
  const { tls } = config
  const files = tls === undefined ? {} : { tls: { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) } }
  return createHttpServer(app.callback(), { limits, ...files })
}

async function listen({ server }: HttpServer, fd: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ fd, backlog }, resolve)
  })
}

/** Prints what the first run of a data folder has made. */
async function showFirstRun({ directory, clock }: Engines, dataFolder: string, baseUrl: string): Promise<void> {
  const firstRun = await prepareFirstRun({ directory, dataFolder, baseUrl, random: randomBytes })
  if (firstRun !== undefined) console.log(describeFirstRun(firstRun, clock(), randomBytes))
}

/** An allowance that goes by what the log holds now. No other process may have one meanwhile. */
async function openAllowance({ telemetry, clock, usedSpans }: Engines): Promise<AllowanceGate> {
  await usedSpans.catchUp()
  const isStored = async (id: string, at: number): Promise<boolean> => (await telemetry.find([id], at)).has(id)
  return createLocalAllowance({ usedSpans: usedSpans.spans, isStored, clock })
}

/** HTTP in the main thread; the log's writer, the projector and the queries in threads. */
export async function composeServer(config: Config): Promise<EmbeddedServer> {
  const { dataFolder } = config
  const folder = joinFolder(dataFolder)
  const engines = await openEngines(config, foldersOf(dataFolder))
  const { projector, allowance } = engines
  const http = createServer(config, engines)
  let isFolding = false
  let isServing = false
  // Grows with each change of role, so that letting go notices when it has been overtaken.
  let turn = 0
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= engines.close().then(folder.release))
  const resume = (): void => {
    turn++
    if (isFolding) projector.start()
    allowance.resume()
  }
  return {
    takeOver: async ({ fd, baseUrl }) => {
      turn++
      const gate = await openAllowance(engines)
      allowance.open(gate)
      isFolding = true
      projector.start()
      await showFirstRun(engines, dataFolder, baseUrl)
      if (!isServing) await listen(http, fd)
      isServing = true
      return gate
    },
    letGo: async () => {
      const own = ++turn
      await projector.stop()
      if (turn !== own) return false
      const timer = setTimeout(resume, letGoTimeoutMs)
      const isEmpty = await allowance.pause()
      clearTimeout(timer)
      return isEmpty
    },
    resume,
    loseAllowance: () => allowance.lose(),
    resign: async (others) => {
      turn++
      isFolding = false
      allowance.open(others)
      await http.retire()
      await close()
    },
    stop: async (patienceMs) => {
      const patience = setTimeout(() => http.server.closeAllConnections(), patienceMs)
      if (isServing) await http.stop()
      clearTimeout(patience)
      await close()
    },
  }
}
