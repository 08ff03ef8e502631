import { Worker } from 'node:worker_threads'

/** What the projector's thread is started with. */
export type ProjectorData = Readonly<{ logFile: string; partition: string; indexFolder: string }>
/** What it says: why one of its projections has stopped, or is tried again. */
export type ProjectorMessage = Readonly<{ projection: string; reason: string; retried: boolean }>

export type RunningProjector = Readonly<{ stop(): Promise<void> }>

const restartPauseMs = 1_000

/**
 * Runs the projector in a thread of its own. One that ends is started again after a pause, from where its indexes are; until
 * then ingest goes on, and readers are told that the indexes are not complete.
 */
export function startProjector(data: ProjectorData): RunningProjector {
  let stopping = false
  let current: Worker
  let ended: Promise<void>
  let restart: NodeJS.Timeout | undefined

  const start = (): void => {
    current = new Worker(new URL('compose-projector-thread.ts', import.meta.url), {
      workerData: data,
      name: 'projector',
    })
    current.on('message', ({ projection, reason, retried }: ProjectorMessage) => {
      console.error(`projection ${projection} ${retried ? 'is tried again' : 'has stopped'}: ${reason}`)
    })
    current.on('error', (error) => console.error(`the projector has ended: ${error.message}`))
    ended = new Promise((resolve) => {
      current.once('exit', () => {
        resolve()
        if (!stopping) restart = setTimeout(start, restartPauseMs)
      })
    })
  }
  start()
  return {
    stop: async () => {
      stopping = true
      clearTimeout(restart)
      current.postMessage('stop')
      await ended
    },
  }
}
