import { createFairPool } from '#src/lib/fair-pool.ts'
import type { IndexReader } from '../../../index-store.ts'
import { createSqliteQueryThread, type SqliteQueryThread } from './query-thread.ts'
import type { SqliteReaderOptions } from './reader.ts'

/** Threads that answer queries, shared by all who ask. */
export type QueryThreads = Readonly<{
  /**
   * The reader of one request. Questions asked at once go to one thread; later ones come after them. However long the queries of one owner take, a
   * thread is left for the others (lib/fair-pool.ts). When the signal is aborted, what is asked rejects with its reason: what has not begun at
   * once, what has begun when its thread next looks. What takes too long rejects with LateError.
   */
  readerFor(owner: string, signal?: AbortSignal): IndexReader
  close(): Promise<void>
}>

type Question = Readonly<{ put(reader: IndexReader): Promise<void>; fail(error: unknown): void }>

/** How long questions that are asked at once may hold a thread: as long as Elasticsearch may take. */
const taskMsMaxDefault = 60_000

/** All threads together keep at most the allowed number of files open. A thread that ends unexpectedly is replaced, and its callers fail. */
export function createSqliteQueryThreads(
  options: SqliteReaderOptions,
  threadsMax: number,
  taskMsMax = taskMsMaxDefault,
): QueryThreads {
  const limits = { ...options.limits, indexFilesOpenMax: Math.ceil(options.limits.indexFilesOpenMax / threadsMax) }
  const pool = createFairPool((onEnd) => createSqliteQueryThread({ ...options, limits }, onEnd), threadsMax)
  const readerFor = (owner: string, signal?: AbortSignal): IndexReader => {
    let asked: Question[] = []
    let isAsking = false
    const begin = (): void => {
      isAsking = true
      // Not a microtask: it runs after all of them, so that their questions go together.
      process.nextTick(() => void askAll())
    }
    const askAll = async (): Promise<void> => {
      const together = asked
      asked = []
      try {
        const putAll = (thread: SqliteQueryThread) =>
          thread.within({ signal, taskMsMax }, () => Promise.all(together.map(({ put }) => put(thread))))
        await pool.run(owner, putAll, signal)
      } catch (error) {
        for (const { fail } of together) fail(error)
      }
      isAsking = false
      if (asked.length > 0) begin()
    }
    const ask = <T>(question: (reader: IndexReader) => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        asked.push({ put: (reader) => question(reader).then(resolve, reject), fail: reject })
        if (!isAsking) begin()
      })
    return {
      answersInOrder: true,
      showsWholeBatches: true,
      progress: (projection) => ask((reader) => reader.progress(projection)),
      get: (scope, ids) => ask((reader) => reader.get(scope, ids)),
      search: (scope, query) => ask((reader) => reader.search(scope, query)),
      places: (scope, query) => ask((reader) => reader.places(scope, query)),
      count: (scope, selection) => ask((reader) => reader.count(scope, selection)),
      histogram: (scope, ...selected) => ask((reader) => reader.histogram(scope, ...selected)),
      facets: (scope, ...selected) => ask((reader) => reader.facets(scope, ...selected)),
      close: async () => undefined,
    }
  }
  return {
    readerFor,
    async close() {
      await Promise.all(pool.close().map((reader) => reader.close()))
    },
  }
}
