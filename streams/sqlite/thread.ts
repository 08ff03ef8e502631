import { parentPort, workerData } from 'node:worker_threads'
import { present } from '#src/lib/assert.ts'
import { serveRemote } from '#src/lib/remote.ts'
import { createLocalWriter } from './local-writer.ts'
import type { LogWriterOptions } from './writer.ts'

// The thread of one log's writer. Its fsyncs delay only the callers whose events it writes.
serveRemote(present(parentPort, 'runs as a thread'), createLocalWriter(workerData as LogWriterOptions))
