import { TransientError } from './failure.ts'
import { createFairLine } from './fair-line.ts'

/** A few workers, each of which does one task at a time. */
type FairPool<Worker> = Readonly<{
  /**
   * Runs the task once a worker is free. Throws TransientError if the pool is closed before that, and the signal's reason if it is aborted
   * before. A task that has begun is not interrupted.
   */
  run<T>(owner: string, task: (worker: Worker) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Starts no more tasks. Returns the workers, with what they are doing. */
  close(): readonly Worker[]
}>

type Task<Worker> = Readonly<{ run(worker: Worker): Promise<void>; refuse(error: Error): void }>

/**
 * A pool that no owner can occupy alone: an owner gets at most all workers but one, so one is free for others however long its tasks take.
 * Next is the owner with the fewest running tasks; among equals the one that has waited longest. Tasks of one owner start in order. A
 * worker is opened when all others are busy. After `onEnd` a worker gets no more tasks, and another may be opened in its place.
 */
export function createFairPool<Worker>(open: (onEnd: () => void) => Worker, workersMax: number): FairPool<Worker> {
  const perOwnerMax = Math.max(1, workersMax - 1)
  const workers = new Set<Worker>()
  const busy = new Set<Worker>()
  const underWay = new Map<string, number>()
  let isClosed = false

  const openOne = (): Worker => {
    const worker = open(() => workers.delete(worker))
    workers.add(worker)
    return worker
  }
  const freeWorker = (): Worker | undefined => {
    for (const worker of workers) if (!busy.has(worker)) return worker
    return workers.size < workersMax ? openOne() : undefined
  }
  const countOf = (owner: string): number => underWay.get(owner) ?? 0
  const waiting = createFairLine<Task<Worker>>(countOf)
  const begin = async (owner: string, task: Task<Worker>, worker: Worker): Promise<void> => {
    busy.add(worker)
    underWay.set(owner, countOf(owner) + 1)
    await task.run(worker)
    busy.delete(worker)
    underWay.set(owner, countOf(owner) - 1)
    if (countOf(owner) === 0) underWay.delete(owner)
    beginAll()
  }
  const beginAll = (): void => {
    for (;;) {
      const next = waiting.next((owner) => countOf(owner) < perOwnerMax)
      const worker = next === undefined ? undefined : freeWorker()
      if (next === undefined || worker === undefined) return
      waiting.remove(next.owner, next.one)
      void begin(next.owner, next.one, worker)
    }
  }
  const closedError = (): Error =>
    new TransientError({
      operation: 'begin',
      subject: 'a task',
      hint: 'no more are begun: the process is about to end',
    })
  return {
    run: (owner, work, signal) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(closedError())
        if (signal?.aborted === true) return reject(signal.reason)
        const drop = (): void => {
          waiting.remove(owner, task)
          reject(signal?.reason)
        }
        const task: Task<Worker> = {
          run: (worker) => {
            signal?.removeEventListener('abort', drop)
            return work(worker).then(resolve, reject)
          },
          refuse: reject,
        }
        signal?.addEventListener('abort', drop)
        waiting.add(owner, task)
        beginAll()
      }),
    close() {
      isClosed = true
      for (const { refuse } of waiting.clear()) refuse(closedError())
      return [...workers]
    },
  }
}
