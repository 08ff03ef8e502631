import { projections } from '#projections/registry.ts'
import type { Engines } from './compose/engines.ts'
import { createWorkerHttp, listenOn } from './compose/http.ts'
import { createOperationsHttp } from './compose/operations.ts'
import type { Config } from './config.ts'
import type { HttpServer } from './http/server.ts'
import { observeSamples } from './operations/index-samples.ts'
import { createMetrics } from './operations/metrics.ts'

/** Where the server listens: bound sockets that this process has inherited, and its public address. */
export type Place = Readonly<{
  /** undefined: the role `project`, which serves no HTTP. */
  fd: number | undefined
  /** For health and metrics, if they are configured. */
  operationsFd: number | undefined
  baseUrl: string
}>

/**
 * The server of one worker process. It opens everything, but serves only once it is told to take over. Of all workers of a parent, one
 * at a time folds the log. See src/README.md.
 */
export type WorkerServer = Readonly<{
  /** Starts folding and listening. The other workers must have let go before. A worker that has let go may take over again. */
  takeOver(place: Place): Promise<void>
  /** Stops folding. */
  letGo(): Promise<void>
  /** Undoes `letGo`: folds again. */
  resume(): void
  /**
   * Another worker has taken over: accepts no more connections, and closes each one after its next answer. Resolves when the last is
   * gone and everything is closed.
   */
  resign(): Promise<void>
  /** Finishes requests under way, for at most that long, and closes everything. */
  stop(patienceMs: number): Promise<void>
}>

/** The configured engines. Imported dynamically, so that only the drivers needed are loaded. */
async function openEngines(config: Config): Promise<Engines> {
  const { cluster } = config
  if (cluster === undefined) return (await import('./compose/embedded.ts')).openEmbeddedEngines(config)
  return (await import('./compose/cluster.ts')).openClusterEngines(config, cluster)
}

/** HTTP in the main thread; the log's writer, the projector and the queries in threads. */
export async function composeServer(config: Config): Promise<WorkerServer> {
  const engines = await openEngines(config)
  const { projector } = engines
  const metrics = createMetrics()
  const http = await createWorkerHttp(config, engines, metrics)
  const { sampler } = engines
  if (sampler !== undefined) {
    observeSamples(metrics, (onSample) => sampler.listen(onSample), {
      projections: projections.map(({ name }) => name),
      partitions: engines.readers.map((_, partition) => String(partition)),
      warn: console.error,
    })
  }
  let isFolding = false
  let isServing = false
  const operations = createOperationsHttp({ engines, metrics, isReady: () => isServing })
  const listeners: HttpServer[] = []
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= engines.close())
  const listen = async (server: HttpServer, fd: number | undefined): Promise<void> => {
    if (fd === undefined || listeners.includes(server)) return
    await listenOn(server, fd)
    listeners.push(server)
  }
  return {
    takeOver: async ({ fd, operationsFd, baseUrl }) => {
      isFolding = true
      projector.start()
      await engines.greet(baseUrl)
      await listen(http, fd)
      isServing = true
      await listen(operations, operationsFd)
      engines.sweep()
    },
    letGo: () => projector.stop(),
    resume: () => {
      if (isFolding) projector.start()
    },
    resign: async () => {
      isFolding = false
      isServing = false
      await Promise.all(listeners.map(({ retire }) => retire()))
      await close()
    },
    stop: async (patienceMs) => {
      isServing = false
      const breakOff = (): void => listeners.forEach((listener) => listener.breakOff())
      const patience = setTimeout(breakOff, patienceMs)
      await Promise.all(listeners.map(({ stop }) => stop()))
      clearTimeout(patience)
      await close()
    },
  }
}
