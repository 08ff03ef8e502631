import { parentPort, workerData } from 'node:worker_threads'
import { present } from '#src/lib/assert.ts'
import { serveRemote } from '#src/lib/remote.ts'
import { createSqliteTextReader, type SqliteReaderOptions } from './reader.ts'

/** The thread behind createSqliteQueryThread: it answers the calls of an IndexReader. */
const options = workerData as SqliteReaderOptions
const reader = createSqliteTextReader(options)
serveRemote(present(parentPort, 'a parent port'), reader, reader.together)
