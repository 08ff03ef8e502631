import { createCrew, type Crew, type CrewOptions } from './crew.ts'
import type { SupervisedWorker } from './supervised-worker.ts'
import type { After } from './watch.ts'

type SupervisorOptions = CrewOptions &
  Readonly<{
    /** Awaited before a worker is started when none is running. */
    prepare: () => Promise<void>
  }>

export type Supervisor = Readonly<{
  /**
   * Keeps one worker serving until it is stopped. Resolves when all have ended, with whether all ended well; rejects when the first
   * one could not take over.
   */
  run(): Promise<boolean>
  /** Replaces the serving worker with a new one. */
  replace(): void
  /** To be called once. */
  stop(): void
}>

const startTimeoutMs = 120_000
const stepTimeoutMs = 30_000
const restartPauseMinMs = 100
const restartPauseMaxMs = 5_000
/** So many workers are started beside replaced ones while nobody serves. Then those are to end: what keeps a worker from starting may be mended only without them. */
const startsBeside = 3

/** Starts a worker and lets it take over. At any moment at most one worker folds the log. */
function createBringUp(crew: Crew, after: After): () => Promise<SupervisedWorker> {
  /** Kills the worker if the promise takes longer, which then rejects with the worker's end. */
  const orKill = async <T>(ms: number, worker: SupervisedWorker, promise: Promise<T>): Promise<T> => {
    const cancel = after(ms, worker.kill)
    try {
      return await promise
    } finally {
      cancel()
    }
  }
  const kill = async (worker: SupervisedWorker): Promise<void> => {
    worker.kill()
    await worker.ended
  }
  /** False when it takes too long. */
  const letGo = async (worker: SupervisedWorker): Promise<boolean> => {
    let cancel = (): void => {}
    const late = new Promise<boolean>((resolve) => {
      cancel = after(stepTimeoutMs, () => resolve(false))
    })
    const isFree = await Promise.race([worker.letGo().then(() => true), late])
    cancel()
    return isFree
  }

  /** Resolves when all others have let go, or have ended. */
  const clearFor = async (next: SupervisedWorker): Promise<void> => {
    const others = crew.others(next)
    const answers = await Promise.all(others.map(letGo))
    const busy = others.filter((_worker, index) => answers[index] === false)
    if (busy.length === 0) return
    if (crew.serving() === undefined) {
      // Nobody serves: it is better that these abort their requests under way.
      await Promise.all(busy.map(kill))
      return
    }
    for (const worker of others) worker.resume()
    throw new Error('a worker did not let go in time')
  }
  /** The worker that was to be replaced continues to serve. */
  const goBack = async (): Promise<void> => {
    const serving = crew.serving()
    if (serving === undefined) return
    await orKill(stepTimeoutMs, serving, serving.takeOver())
  }
  const takeOver = async (next: SupervisedWorker): Promise<void> => {
    try {
      crew.touch(next)
      await orKill(stepTimeoutMs, next, next.takeOver())
      if (!crew.has(next)) throw new Error('it ended at once')
    } catch (error) {
      await goBack()
      throw error
    }
  }

  return async () => {
    const next = crew.start()
    try {
      await orKill(startTimeoutMs, next, next.ready)
      await clearFor(next)
      await takeOver(next)
    } catch (error) {
      await kill(next)
      throw error
    }
    crew.serve(next)
    return next
  }
}

/** Restarts a worker that crashes, replaces one on demand, and stops them all. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { report, after, prepare } = options
  let wake = (): void => {}
  let isWanted = false
  let hasServed = false
  const crew = createCrew(options, () => wake())
  const bringUp = createBringUp(crew, after)

  const woken = (ms?: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = ms === undefined ? () => {} : after(ms, resolve)
      wake = () => {
        cancel()
        resolve()
      }
    })

  /** True when a new worker serves. */
  const renew = async (): Promise<boolean> => {
    const before = crew.serving()?.pid
    isWanted = false
    try {
      if (crew.isEmpty() && hasServed) await prepare()
      if (crew.isStopping()) return false
      const { pid } = await bringUp()
      hasServed = true
      report({ kind: 'serves', pid, instead: before })
      return true
    } catch (error) {
      if (crew.isStopping()) return false
      if (!hasServed) throw error
      const reason = error instanceof Error ? error.message : String(error)
      report({ kind: 'failed', reason, serving: crew.serving()?.pid })
      return false
    }
  }

  return {
    run: async () => {
      let failures = 0
      for (;;) {
        if (crew.isStopping()) return crew.ended()
        if (crew.serving() !== undefined && !isWanted) await woken()
        else if (await renew()) failures = 0
        else if (crew.serving() === undefined && !crew.isStopping()) {
          if (++failures === startsBeside) crew.endReplaced()
          await woken(Math.min(restartPauseMaxMs, restartPauseMinMs * 2 ** (failures - 1)))
        }
      }
    },
    replace: () => {
      isWanted = true
      wake()
    },
    stop: () => {
      crew.stop()
      wake()
    },
  }
}
