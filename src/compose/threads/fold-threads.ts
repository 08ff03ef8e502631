import { Worker } from 'node:worker_threads'
import type { BuildPlace } from '#projections/build-place.ts'
import type { IndexPlace, LogPlace } from '#src/compose/places.ts'
import { revive } from '#src/lib/remote.ts'
import { foldPlaced, type PlacedTask } from './fold-task.ts'

/** A thread takes some 0.3 seconds of a processor before it folds anything. No more than these of the largest events: their thread answers nobody. */
const fewEvents = 4

/** One worker, until it has folded its share or is stopped. */
async function foldInThread(
  data: PlacedTask,
  onProgress: (position: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const name = `fold ${data.task.share.number}`
  const worker = new Worker(new URL('fold-thread.ts', import.meta.url), { workerData: data, name })
  const stop = (): void => void worker.terminate()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    await new Promise<void>((resolve, reject) => {
      worker.on('message', onProgress)
      worker.once('error', (error: Error) => reject(revive(error)))
      worker.once('exit', () => (signal.aborted ? reject(signal.reason as Error) : resolve()))
    })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function foldAllInThreads(
  placed: readonly PlacedTask[],
  onProgress: (share: number, position: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController()
  const until = AbortSignal.any([signal, failed.signal])
  const outcomes = await Promise.allSettled(
    placed.map(async (data) => {
      try {
        await foldInThread(data, (position) => onProgress(data.task.share.number, position), until)
      } catch (error) {
        failed.abort(error)
        throw error
      }
    }),
  )
  const first = outcomes.find((outcome) => outcome.status === 'rejected')
  if (first !== undefined) throw failed.signal.reason
}

/** Folds by a thread for each task; when one fails the others are stopped. By the caller's thread, one task after the other, where few events are left. */
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
