import type { Ending, SupervisedWorker } from './supervised-worker.ts'
import { watch, type After } from './watch.ts'

/** How many replaced workers may still have connections, beside the serving one; beyond that the oldest is stopped. */
const replacedMax = 3
const replacedPatienceMs = 30_000
/** A worker that was told to stop is killed this long after its patience has run out. */
const closeTimeoutMs = 10_000

/** What is reported about workers. */
export type WorkerEvent =
  | Readonly<{ kind: 'serves'; pid: number; instead: number | undefined }>
  /** A replaced worker has answered all of its requests. */
  | Readonly<{ kind: 'ended'; pid: number }>
  | Readonly<{ kind: 'crashed'; pid: number; ending: Ending }>
  /** It did not answer for too long, and is killed; its end is not reported again. */
  | Readonly<{ kind: 'hangs'; pid: number }>
  /** A new worker could not take over. `serving`: the one that continues. */
  | Readonly<{ kind: 'failed'; reason: string; serving: number | undefined }>

export type CrewOptions = Readonly<{
  startWorker: () => SupervisedWorker
  report: (event: WorkerEvent) => void
  /** How long a worker that serves, or has served, may leave pings unanswered, ms; 0: no limit. A starting worker is not pinged. */
  silenceMs: number
  /** How long stopping workers may finish requests under way, ms. */
  stopPatienceMs: number
  after: After
}>

/**
 * How far a worker has come. `new`: not told to take over yet, so it has nothing to finish. `told`: told to, and may serve. `replaced`: another one
 * serves; it ends once it has answered its requests. `hangs`: it was killed for not answering, which is reported already.
 */
type Stage = 'new' | 'told' | 'replaced' | 'hangs'

/** Stops a worker, and kills it if it has not ended when its patience is over. */
function stopWorker(worker: SupervisedWorker, patienceMs: number, after: After): void {
  worker.stop(patienceMs)
  const cancel = after(patienceMs + closeTimeoutMs, worker.kill)
  void worker.ended.then(cancel)
}

/**
 * Workers that have begun nothing end first, before the others stop: they hold the listening sockets too. Whoever connects when nobody accepts any
 * more would wait there until they end, and then be reset.
 */
async function stopInOrder(
  first: readonly SupervisedWorker[],
  rest: readonly SupervisedWorker[],
  stop: (worker: SupervisedWorker) => void,
): Promise<void> {
  for (const worker of first) worker.kill()
  await Promise.all(first.map(({ ended }) => ended))
  rest.forEach(stop)
}

/** All workers, and which of them serves. */
export function createCrew({ startWorker, report, silenceMs, stopPatienceMs, after }: CrewOptions, onLost: () => void) {
  // In the order of their start.
  const stages = new Map<SupervisedWorker, Stage>()
  const at = (stage: Stage): readonly SupervisedWorker[] =>
    [...stages].flatMap(([worker, its]) => (its === stage ? worker : []))
  const others = (worker: SupervisedWorker): readonly SupervisedWorker[] =>
    [...stages.keys()].filter((each) => each !== worker)
  let serving: SupervisedWorker | undefined
  let isStopping = false
  let endedWell = true

  const remove = (worker: SupervisedWorker, ending: Ending): void => {
    const stage = stages.get(worker)
    stages.delete(worker)
    if (isStopping) return void (endedWell &&= stage === 'new' || ending.code === 0)
    const { pid } = worker
    if (worker === serving) {
      serving = undefined
      if (stage !== 'hangs') report({ kind: 'crashed', pid, ending })
      return onLost()
    }
    if (stage !== 'replaced') return
    report(ending.code === 0 ? { kind: 'ended', pid } : { kind: 'crashed', pid, ending })
  }
  const killHanging = (worker: SupervisedWorker): void => {
    if (isStopping) return
    stages.set(worker, 'hangs')
    report({ kind: 'hangs', pid: worker.pid })
    worker.kill()
  }
  return {
    start: (): SupervisedWorker => {
      const worker = startWorker()
      stages.set(worker, 'new')
      void worker.ended.then((ending) => remove(worker, ending))
      return worker
    },
    isStopping: (): boolean => isStopping,
    /** To be called just before a worker is told to take over. */
    touch: (worker: SupervisedWorker): void => {
      // It may have ended while the others let go.
      if (!isStopping && stages.has(worker)) stages.set(worker, 'told')
    },
    has: (worker: SupervisedWorker): boolean => stages.has(worker),
    isEmpty: (): boolean => stages.size === 0,
    others,
    serving: () => serving,
    /** From now on this one serves; the others end once they have answered their requests. */
    serve: (worker: SupervisedWorker): void => {
      serving = worker
      const endWatch = watch(worker, { silenceMs, after, onSilence: () => killHanging(worker) })
      void worker.ended.then(endWatch)
      for (const other of others(worker)) {
        if (stages.get(other) !== 'hangs') stages.set(other, 'replaced')
        other.resign()
      }
      for (const oldest of at('replaced').slice(0, -replacedMax)) stopWorker(oldest, replacedPatienceMs, after)
    },
    /** The replaced workers end, and may finish requests under way for a while. */
    endReplaced: (): void => {
      for (const worker of at('replaced')) stopWorker(worker, replacedPatienceMs, after)
    },
    stop: (): void => {
      isStopping = true
      const first = at('new')
      const rest = [...stages.keys()].filter((worker) => !first.includes(worker))
      void stopInOrder(first, rest, (worker) => stopWorker(worker, stopPatienceMs, after))
    },
    ended: async (): Promise<boolean> => {
      await Promise.all([...stages.keys()].map(({ ended }) => ended))
      return endedWell
    },
  }
}
export type Crew = ReturnType<typeof createCrew>
