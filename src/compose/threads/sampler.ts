import { Worker } from 'node:worker_threads'
import type { IndexSample } from '#src/operations/index-samples.ts'
import type { ClusterPlace } from '../places.ts'

/** A partition whose indexes are compared. `dataFolder`: where temporary files may go; in an embedded server the indexes are there too. */
export type SamplePlace = Readonly<{ dataFolder: string; partition: string }> & Partial<Pick<ClusterPlace, 'cluster'>>

type SamplerOptions = Readonly<{
  /** What to sample next, in this order; asked before each round. */
  places: () => readonly SamplePlace[]
  everyMs: number
}>

export type Sampler = Readonly<{
  start(): void
  /** Resolves when no sample is under way any more. */
  stop(): Promise<void>
  /** Calls the listener with each sample. */
  listen(onSample: (sample: IndexSample) => void): void
}>

/** Compares a part of each index with the log from time to time, as long as it is started, one sample at a time. */
export function createSampler({ places, everyMs }: SamplerOptions): Sampler {
  const listeners: ((sample: IndexSample) => void)[] = []
  let timer: NodeJS.Timeout | undefined
  let current: Worker | undefined
  let taking: Promise<void> | undefined
  const tell = (sample: IndexSample): void => listeners.forEach((listener) => listener(sample))
  const takeOne = (place: SamplePlace): Promise<void> =>
    new Promise((resolve) => {
      const thread = new Worker(new URL('sample-thread.ts', import.meta.url), { workerData: place, name: 'sample' })
      current = thread
      thread.on('message', tell)
      thread.on('error', (error: Error) => tell({ partition: place.partition, error }))
      thread.once('exit', () => {
        current = undefined
        resolve()
      })
    })
  const takeAll = async (): Promise<void> => {
    for (const place of places()) if (timer !== undefined) await takeOne(place)
  }
  return {
    start: () => {
      timer ??= setInterval(() => {
        taking ??= takeAll().finally(() => (taking = undefined))
      }, everyMs).unref()
    },
    stop: async () => {
      clearInterval(timer)
      timer = undefined
      await current?.terminate()
      await taking
    },
    listen: (onSample) => void listeners.push(onSample),
  }
}
