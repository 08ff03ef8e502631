import { parentPort } from 'node:worker_threads'

// A thread that does not do what it is told, as one that gets no time from the processor.
parentPort?.on('message', () => undefined)
