import { Worker } from 'node:worker_threads'
import { createRemote } from '#src/lib/remote.ts'
import { TooBroadError, type IndexReader } from '../../index-store.ts'
import type { SqliteReaderOptions } from './reader.ts'
import { withDocuments, type TextReader } from './text-reader.ts'

/** Errors cross a thread by name and text: one that callers tell apart by its class gets it back. */
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

/**
 * A reader whose queries run in a thread of their own, one after the other, so that none stops the event loop. What is asked at
 * once is read of each file as it was at one moment. A thread that has ended fails every call with TransientError; `onEnd` is told
 * before any of those under way fails.
 */
export function createSqliteQueryThread(options: SqliteReaderOptions, onEnd = (): void => {}): IndexReader {
  const worker = new Worker(new URL('query-worker.ts', import.meta.url), { workerData: options, name: 'query' })
  worker.on('error', onEnd)
  worker.on('exit', onEnd)
  const remote = createRemote<TextReader>(worker, 'the query thread')
  return withDocuments({
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
}
