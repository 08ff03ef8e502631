import { parentPort, workerData } from 'node:worker_threads'
import { present } from '#src/lib/assert.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import { serveRemote } from '#src/lib/remote.ts'
import { createSqliteTextReader, type SqliteReaderOptions } from './reader.ts'

/** `stop`: not 0 while nobody waits for what this thread is asked; it hears no message before it has answered. */
export type QueryWorkerData = Readonly<{ options: SqliteReaderOptions; stop: Int32Array }>

/** The thread behind createSqliteQueryThread: it answers the calls of an IndexReader. */
const { options, stop } = workerData as QueryWorkerData
const reader = createSqliteTextReader(options, () => {
  if (Atomics.load(stop, 0) !== 0) throw new Error('nobody waits for the answer')
})
serveRemote(present(parentPort, 'a parent port'), reader, reader.together)

/** A thread that is asked nothing would keep the files of a build that is gone open, and so their room on the disk. */
function leave(): void {
  try {
    reader.leave()
  } catch (error) {
    // The next question meets it too, and says it.
    if (!isOperatingFailure(error)) throw error
  }
}
setInterval(leave, options.leaveEveryMs ?? 60_000)
