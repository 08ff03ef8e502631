import { openEmbeddedEngines } from './compose-embedded.ts'
import { createWorkerHttp, listenOn } from './compose-http.ts'
import type { Config } from './config.ts'
import type { AllowanceGate } from './ingest/allowance.ts'

/** Where the server listens: a bound socket that this process has inherited, and the address that others know it by. */
export type Place = Readonly<{ fd: number; baseUrl: string }>

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
  const http = createWorkerHttp(config, engines)
  let isFolding = false
  let isServing = false
  // Grows with each change of role, so that letting go notices when it has been overtaken.
  let turn = 0
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= engines.close())
  const resume = (): void => {
    turn++
    if (isFolding) projector.start()
    allowance.resume()
  }
  return {
    takeOver: async ({ fd, baseUrl }) => {
      turn++
      const gate = await engines.openAllowance()
      allowance.open(gate)
      isFolding = true
      projector.start()
      await engines.greet(baseUrl)
      if (!isServing) await listenOn(http, fd)
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
