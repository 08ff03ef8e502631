import { Worker } from 'node:worker_threads'
import type { BuildPlace } from '#projections/build-place.ts'
import type { IndexPlace, LogPlace } from '#src/compose/places.ts'
import type { FoldThreadData } from './fold-thread.ts'

/** One worker, until it has folded its share or is stopped. */
async function foldInThread(
  data: FoldThreadData,
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
      worker.once('error', reject)
      worker.once('exit', () => (signal.aborted ? reject(signal.reason as Error) : resolve()))
    })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Folds by a thread for each task; when one fails the others are stopped. */
export const foldInThreads =
  (log: LogPlace, index: IndexPlace): BuildPlace['fold'] =>
  async (tasks, onProgress, signal) => {
    const failed = new AbortController()
    const until = AbortSignal.any([signal, failed.signal])
    const outcomes = await Promise.allSettled(
      tasks.map(async (task) => {
        try {
          await foldInThread({ log, index, task }, (position) => onProgress(task.share.number, position), until)
        } catch (error) {
          failed.abort(error)
          throw error
        }
      }),
    )
    const first = outcomes.find((outcome) => outcome.status === 'rejected')
    if (first !== undefined) throw failed.signal.reason
  }
