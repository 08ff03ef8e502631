import { watch, type Watched } from './watch.ts'

/** How a worker ended. `error`: it could not even be started. */
export type Ending = Readonly<{ code: number | null; signal: NodeJS.Signals | null; error?: Error }>

export const describeEnding = ({ code, signal, error }: Ending): string =>
  error?.message ?? (signal === null ? `exit code ${code}` : signal)

export class WorkerEnded extends Error {
  override readonly name = 'WorkerEnded'
  readonly ending: Ending
  constructor(ending: Ending) {
    super(`the worker has ended (${describeEnding(ending)})`)
    this.ending = ending
  }
}

/** A worker as its supervisor sees it. For the meaning of the orders, see WorkerServer in compose.ts. */
export type SupervisedWorker = Watched &
  Readonly<{
    id: number
    pid: number
    /** Rejects with WorkerEnded when it ends before. */
    ready: Promise<void>
    ended: Promise<Ending>
    /** Rejects with WorkerEnded when it ends before. */
    takeOver(): Promise<void>
    /** Resolves when it has let go, or has ended. */
    letGo(): Promise<void>
    resume(): void
    resign(): void
    stop(patienceMs: number): void
    kill(): void
  }>

export type SupervisorEvent =
  | Readonly<{ kind: 'serves'; pid: number; instead: number | undefined }>
  /** A replaced worker has answered all of its requests. */
  | Readonly<{ kind: 'ended'; pid: number }>
  | Readonly<{ kind: 'crashed'; pid: number; ending: Ending }>
  /** It did not answer for too long, and is killed; its end is not reported again. */
  | Readonly<{ kind: 'hangs'; pid: number }>
  /** A new worker could not take over. `serving`: the one that continues. */
  | Readonly<{ kind: 'failed'; reason: string; serving: number | undefined }>

type SupervisorOptions = Readonly<{
  startWorker: (id: number) => SupervisedWorker
  /** Awaited before a worker is started when none is running. */
  prepare: () => Promise<void>
  report: (event: SupervisorEvent) => void
  /** How long a worker that serves, or has served, may leave pings unanswered, ms; 0: no limit. A starting worker is not pinged. */
  silenceMs: number
  /** How long stopping workers may finish requests under way, ms. */
  stopPatienceMs: number
  /** Runs the task after `ms`; the function returned cancels it. */
  after: (ms: number, task: () => void) => () => void
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

/** How many replaced workers may still have connections, beside the serving one; beyond that the oldest is stopped. */
const replacedMax = 3
const replacedPatienceMs = 30_000
/** A worker that was told to stop is killed this long after its patience has run out. */
const closeTimeoutMs = 10_000
const startTimeoutMs = 120_000
const stepTimeoutMs = 30_000
const restartPauseMinMs = 100
const restartPauseMaxMs = 5_000

/** One that has not ended when its patience is over is killed. */
function stopWorker(worker: SupervisedWorker, patienceMs: number, after: SupervisorOptions['after']): void {
  worker.stop(patienceMs)
  const cancel = after(patienceMs + closeTimeoutMs, worker.kill)
  void worker.ended.then(cancel)
}

/**
 * Workers that have begun nothing end at once, and before the others stop: they hold the listening sockets, too, and who connects when nobody
 * accepts any more would wait there until they end, and be reset.
 */
async function stopAll(
  workers: readonly SupervisedWorker[],
  untouched: ReadonlySet<SupervisedWorker>,
  stop: (worker: SupervisedWorker) => void,
): Promise<void> {
  const first = workers.filter((worker) => untouched.has(worker))
  const others = workers.filter((worker) => !untouched.has(worker))
  for (const worker of first) worker.kill()
  await Promise.all(first.map(({ ended }) => ended))
  others.forEach(stop)
}

/** All workers, and which of them serves. */
function createCrew({ startWorker, report, silenceMs, stopPatienceMs, after }: SupervisorOptions, onLost: () => void) {
  // In the order of their start.
  const workers = new Map<number, SupervisedWorker>()
  const replaced = new Set<SupervisedWorker>()
  const hanging = new Set<SupervisedWorker>()
  /** Not told to take over yet: there is nothing that they would have to finish. */
  const untouched = new Set<SupervisedWorker>()
  let started = 0
  let serving: SupervisedWorker | undefined
  let isStopping = false
  let endedWell = true

  const remove = (worker: SupervisedWorker, ending: Ending): void => {
    workers.delete(worker.id)
    const wasReplaced = replaced.delete(worker)
    const isWell = untouched.delete(worker) || ending.code === 0
    if (isStopping) return void (endedWell &&= isWell)
    const { pid } = worker
    const isTold = hanging.delete(worker)
    if (worker === serving) {
      serving = undefined
      if (!isTold) report({ kind: 'crashed', pid, ending })
      return onLost()
    }
    if (!wasReplaced || isTold) return
    report(ending.code === 0 ? { kind: 'ended', pid } : { kind: 'crashed', pid, ending })
  }
  const killHanging = (worker: SupervisedWorker): void => {
    if (isStopping) return
    hanging.add(worker)
    report({ kind: 'hangs', pid: worker.pid })
    worker.kill()
  }

  return {
    start: (): SupervisedWorker => {
      const id = ++started
      const worker = startWorker(id)
      workers.set(id, worker)
      untouched.add(worker)
      void worker.ended.then((ending) => remove(worker, ending))
      return worker
    },
    isStopping: (): boolean => isStopping,
    /** It is about to be told to take over. */
    touch: (worker: SupervisedWorker): void => {
      if (!isStopping) untouched.delete(worker)
    },
    has: ({ id }: SupervisedWorker): boolean => workers.has(id),
    isEmpty: (): boolean => workers.size === 0,
    others: (worker: SupervisedWorker) => [...workers.values()].filter((each) => each !== worker),
    serving: () => serving,
    /** From now on this one serves; the others end once they have answered their requests. */
    serve: (worker: SupervisedWorker): void => {
      serving = worker
      const endWatch = watch(worker, { silenceMs, after, onSilence: () => killHanging(worker) })
      void worker.ended.then(endWatch)
      for (const other of workers.values()) {
        if (other === worker) continue
        replaced.add(other)
        other.resign()
      }
      for (const oldest of [...replaced].slice(0, -replacedMax)) stopWorker(oldest, replacedPatienceMs, after)
    },
    stop: (): void => {
      isStopping = true
      void stopAll([...workers.values()], untouched, (worker) => stopWorker(worker, stopPatienceMs, after))
    },
    ended: async (): Promise<boolean> => {
      await Promise.all([...workers.values()].map(({ ended }) => ended))
      return endedWell
    },
  }
}
type Crew = ReturnType<typeof createCrew>

/** Starts a worker and lets it take over. At any moment at most one worker folds the log. */
function createBringUp(crew: Crew, after: SupervisorOptions['after']): () => Promise<SupervisedWorker> {
  /** Kills the worker if the promise takes longer, which then rejects with the worker's end. */
  const inTime = async <T>(ms: number, worker: SupervisedWorker, promise: Promise<T>): Promise<T> => {
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
    await inTime(stepTimeoutMs, serving, serving.takeOver())
  }
  const takeOver = async (next: SupervisedWorker): Promise<void> => {
    try {
      crew.touch(next)
      await inTime(stepTimeoutMs, next, next.takeOver())
      if (!crew.has(next)) throw new Error('it ended at once')
    } catch (error) {
      await goBack()
      throw error
    }
  }

  return async () => {
    const next = crew.start()
    try {
      await inTime(startTimeoutMs, next, next.ready)
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
          await woken(Math.min(restartPauseMaxMs, restartPauseMinMs * 2 ** failures++))
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
