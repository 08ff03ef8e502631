import { parentPort, workerData } from 'node:worker_threads'
import { present } from '#src/lib/assert.ts'
import { serveRemote } from '#src/lib/remote.ts'
import { createLocalWriter } from './local-writer.ts'
import type { LogWriterOptions } from './writer.ts'

// The thread of one log's writer: its fsyncs make nobody wait but those whose events they write.
serveRemote(present(parentPort, 'runs as a thread'), createLocalWriter(workerData as LogWriterOptions))
