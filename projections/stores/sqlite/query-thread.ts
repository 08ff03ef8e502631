import { Worker } from 'node:worker_threads'
import { createRemote } from '#src/lib/remote.ts'
import { TooBroadError, type IndexReader } from '../../index-store.ts'
import type { QueryWorkerData } from './query-worker.ts'
import type { SqliteReaderOptions } from './reader.ts'
import { withDocuments, type TextReader } from './text-reader.ts'

/** Errors cross threads only by name and text, so an error that callers recognize by its class is made again. */
function revived(error: unknown): unknown {
  return error instanceof Error && error.name === 'TooBroadError' ? new TooBroadError(error.message) : error
}

const withErrors = async <T>(answer: Promise<T>): Promise<T> => {
  try {
    return await answer
  } catch (error) {
    throw revived(error)
  }
}

/** `within`: what the task asks is broken off when the signal is aborted. One task at a time. */
export type SqliteQueryThread = IndexReader &
  Readonly<{ within<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> }>

/**
 * A reader whose queries run in a thread, one after the other, so that none blocks the event loop. Questions asked at once read each file as of one
 * moment. After the thread has ended, every call fails with TransientError; `onEnd` is called before those under way fail.
 */
export function createSqliteQueryThread(options: SqliteReaderOptions, onEnd = (): void => {}): SqliteQueryThread {
  const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const workerData: QueryWorkerData = { options, stop }
  const worker = new Worker(new URL('query-worker.ts', import.meta.url), { workerData, name: 'query' })
  worker.on('error', onEnd)
  worker.on('exit', onEnd)
  const remote = createRemote<TextReader>(worker, 'the query thread')
  const reader = withDocuments({
    answersInOrder: true,
    progress: (projection) => withErrors(remote.progress(projection)),
    get: (scope, ids) => withErrors(remote.get(scope, ids)),
    search: (scope, query) => withErrors(remote.search(scope, query)),
    places: (scope, query) => withErrors(remote.places(scope, query)),
    count: (scope, selection) => withErrors(remote.count(scope, selection)),
    histogram: (scope, selection, stepNs, by) => withErrors(remote.histogram(scope, selection, stepNs, by)),
    facets: (scope, selection, fields, valuesMax) => withErrors(remote.facets(scope, selection, fields, valuesMax)),
    async close() {
      try {
        await remote.close()
      } finally {
        await worker.terminate()
      }
    },
  })
  return {
    ...reader,
    async within(signal, task) {
      const breakOff = (): void => void Atomics.store(stop, 0, 1)
      signal?.addEventListener('abort', breakOff)
      try {
        return await task()
      } finally {
        signal?.removeEventListener('abort', breakOff)
        Atomics.store(stop, 0, 0)
      }
    },
  }
}
