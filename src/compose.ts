import { openEmbeddedEngines } from './compose-embedded.ts'
import { createWorkerHttp, listenOn } from './compose-http.ts'
import { createOperationsHttp } from './compose-operations.ts'
import type { Config } from './config.ts'
import type { HttpServer } from './http/server.ts'
import type { AllowanceGate } from './ingest/allowance.ts'
import { createMetrics } from './operations/metrics.ts'

/** Where the server listens: bound sockets that this process has inherited, and the address that others know it by. */
export type Place = Readonly<{
  /** undefined: a projector, which answers nobody. */
  fd: number | undefined
  /** For health and metrics, where they are wanted. */
  operationsFd: number | undefined
  baseUrl: string
}>

/**
 * The server of one worker process. It opens everything and serves nobody until it is told to take over; of all workers of a
 * parent one at a time folds the log and owns the span allowance. See src/README.md.
 */
export type WorkerServer = Readonly<{
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

/** How long others wait for the reservations of requests that are under way. */
const letGoTimeoutMs = 5_000

/** HTTP in the main thread; the log's writer, the projector and the queries in threads. */
export async function composeServer(config: Config): Promise<WorkerServer> {
  const engines = await openEmbeddedEngines(config)
  const { projector, allowance } = engines
  const metrics = createMetrics()
  const http = createWorkerHttp(config, engines, metrics)
  let isFolding = false
  let isServing = false
  const operations = createOperationsHttp({ engines, metrics, isReady: () => isServing })
  const listeners: HttpServer[] = []
  // Grows with each change of role, so that letting go notices when it has been overtaken.
  let turn = 0
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= engines.close())
  const resume = (): void => {
    turn++
    if (isFolding) projector.start()
    allowance.resume()
  }
  const listen = async (server: HttpServer, fd: number | undefined): Promise<void> => {
    if (fd === undefined || listeners.includes(server)) return
    await listenOn(server, fd)
    listeners.push(server)
  }
  return {
    takeOver: async ({ fd, operationsFd, baseUrl }) => {
      turn++
      const gate = await engines.openAllowance()
      allowance.open(gate)
      isFolding = true
      projector.start()
      await engines.greet(baseUrl)
      await listen(http, fd)
      isServing = true
      await listen(operations, operationsFd)
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
      isServing = false
      allowance.open(others)
      await Promise.all(listeners.map(({ retire }) => retire()))
      await close()
    },
    stop: async (patienceMs) => {
      isServing = false
      const closeAll = (): void => listeners.forEach(({ server }) => server.closeAllConnections())
      const patience = setTimeout(closeAll, patienceMs)
      await Promise.all(listeners.map(({ stop }) => stop()))
      clearTimeout(patience)
      await close()
    },
  }
}
