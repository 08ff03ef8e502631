import { Worker } from 'node:worker_threads'
import { LateError } from '#src/lib/failure.ts'
import { createRemote } from '#src/lib/remote.ts'
import { TooBroadError, type IndexReader } from '../../../index-store.ts'
import type { QueryWorkerData } from './query-worker.ts'
import type { SqliteReaderOptions } from './reader.ts'
import { withDocuments, type TextReader } from './text-reader.ts'

/** Errors cross threads only by name and text, so an error that callers recognize by its class is made again. */
function revived(error: unknown): unknown {
  return error instanceof Error && error.name === 'TooBroadError' ? new TooBroadError(error.message) : error
}

/** How long a task may last, ms, and the signal of whom it is for. */
type Until = Readonly<{ taskMsMax: number; signal: AbortSignal | undefined }>

/** `within`: what the task asks is broken off when the signal is aborted, or it has taken too long. One task at a time. */
export type SqliteQueryThread = IndexReader & Readonly<{ within<T>(until: Until, task: () => Promise<T>): Promise<T> }>

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
  let broken: Readonly<{ reason: unknown }> | undefined
  const withErrors = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer
    } catch (error) {
      throw broken === undefined ? revived(error) : broken.reason
    }
  }
  const reader = withDocuments({
    answersInOrder: true,
    showsWholeBatches: true,
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
    async within({ signal, taskMsMax }, task) {
      const breakOff = (reason: unknown): void => {
        broken = { reason }
        Atomics.store(stop, 0, 1)
      }
      const gone = (): void => breakOff(signal?.reason)
      const timer = setTimeout(() => breakOff(late(taskMsMax)), taskMsMax)
      signal?.addEventListener('abort', gone)
      try {
        return await task()
      } finally {
        clearTimeout(timer)
        signal?.removeEventListener('abort', gone)
        broken = undefined
        Atomics.store(stop, 0, 0)
      }
    },
  }
}

const late = (ms: number): LateError =>
  new LateError({
    operation: 'search',
    subject: 'an index',
    hint: `not done in ${ms / 1000} s: it is too broad for this machine`,
  })
