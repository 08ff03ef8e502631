import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { BuildPlace } from '#projections/builds/build-place.ts'
import type { Position } from '#src/events/envelope.ts'
import { revive } from '#src/lib/remote.ts'
import { memoryBytes } from '../memory.ts'
import type { IndexPlace, LogPlace } from '../places.ts'
import { foldPlaced, type FoldSaid, type PlacedTask } from './fold-task.ts'
import { createRace } from './race.ts'

/** Memory that a worker takes if the log holds events of the largest size. */
const workerBytes = 512 * 1024 * 1024

/** How many workers fold at once: as many as processors (two at least) and as half of the memory has room for; a server may run beside. */
export const workersFor = (processors: number, memory: number): number =>
  Math.max(1, Math.min(Math.max(2, processors), Math.floor(memory / 2 / workerBytes)))

export const foldWorkers = (): number => workersFor(availableParallelism(), memoryBytes())

/**
 * Up to this many events are folded by the caller's thread: another thread costs 0.3 s of a processor before it folds anything. Not more, because
 * the caller answers nobody meanwhile.
 */
const fewEvents = 4

/** One worker, until it has folded its share or is stopped. */
async function foldInThread(
  data: PlacedTask,
  isAhead: (position: Position) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const name = `fold ${data.task.share.number}`
  const worker = new Worker(new URL('fold-thread.ts', import.meta.url), { workerData: data, name })
  const stop = (): void => void worker.terminate()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    await new Promise<void>((resolve, reject) => {
      let isFolded = false
      worker.on('message', (said: FoldSaid) => {
        if (said === 'folded') isFolded = true
        else if (isAhead(said)) worker.postMessage('ahead')
      })
      worker.once('error', (error: Error) => reject(revive(error)))
      worker.once('exit', (code) => {
        if (signal.aborted) reject(signal.reason as Error)
        else if (isFolded) resolve()
        else reject(new Error(`${name} ended with ${code} before it had folded its share`))
      })
    })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function foldAllInThreads(
  placed: readonly PlacedTask[],
  onProgress: (share: number, position: Position) => void,
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController()
  const until = AbortSignal.any([signal, failed.signal])
  const race = createRace(placed.length, Math.max(...placed.map(({ task }) => task.events)))
  const outcomes = await Promise.allSettled(
    placed.map(async (data) => {
      const { number } = data.task.share
      const isAhead = (position: Position): boolean => {
        onProgress(number, position)
        return race(number, position)
      }
      try {
        await foldInThread(data, isAhead, until)
      } catch (error) {
        failed.abort(error)
        throw error
      }
    }),
  )
  const first = outcomes.find((outcome) => outcome.status === 'rejected')
  if (first !== undefined) throw failed.signal.reason
}

/** Folds each task in a thread of its own; if one fails the others are stopped. A few events are folded by the caller's thread, task by task. */
export const foldInThreads =
  (log: LogPlace, index: IndexPlace): BuildPlace['fold'] =>
  async (tasks, onProgress, signal) => {
    const placed = tasks.map((task) => ({ log, index, task }))
    if (tasks.some(({ events }) => events > fewEvents)) return foldAllInThreads(placed, onProgress, signal)
    for (const data of placed) {
      signal.throwIfAborted()
      await foldPlaced(data, (position) => onProgress(data.task.share.number, position))
    }
  }
