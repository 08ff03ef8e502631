import { Worker } from 'node:worker_threads'
import type { ClusterPlace } from './compose-places.ts'
import type { ProjectorThread } from './compose-projector.ts'

/** A partition whose indexes are compared. `dataFolder`: where there is room for a while; embedded, where they are too. */
export type SamplePlace = Readonly<{ dataFolder: string; partition: string }> & Partial<Pick<ClusterPlace, 'cluster'>>

/** What the thread of a sample is started with. */
export type SampleData = Readonly<{ place: SamplePlace; eventsPerSecondMax: number }>

/** What it found: how many entries of a workspace were compared, and how many were not what the log says. */
export type Sampled = Readonly<{
  projection: string
  index: string
  partition: string
  workspaceId: string
  entries: number
  different: number
}>

/** One that could not be taken. */
export type NotSampled = Readonly<{ partition: string; error: Error }>

export type SamplerOptions = Readonly<{
  /** What is sampled next, one after the other; asked each time. */
  places: () => readonly SamplePlace[]
  everyMs: number
  eventsPerSecondMax: number
}>

export type Sampler = Readonly<{
  start(): void
  /** Resolves when no sample is under way any more. */
  stop(): Promise<void>
  /** Whoever listens hears of each sample. */
  listen(onSample: (sample: Sampled | NotSampled) => void): void
}>

/** Compares a part of each index with the log from time to time, as long as it is started, one sample at a time. */
export function createSampler({ places, everyMs, eventsPerSecondMax }: SamplerOptions): Sampler {
  const listeners: ((sample: Sampled | NotSampled) => void)[] = []
  let timer: NodeJS.Timeout | undefined
  let current: Worker | undefined
  let taking: Promise<void> | undefined
  const tell = (sample: Sampled | NotSampled): void => listeners.forEach((listener) => listener(sample))
  const takeOne = (place: SamplePlace): Promise<void> =>
    new Promise((resolve) => {
      const workerData: SampleData = { place, eventsPerSecondMax }
      const thread = new Worker(new URL('compose-sample-thread.ts', import.meta.url), { workerData, name: 'sample' })
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

/** Samples are taken where the projector runs, and only while it does. */
export const withSampler = (projector: ProjectorThread, sampler: Sampler): ProjectorThread => ({
  ...projector,
  start: () => {
    projector.start()
    sampler.start()
  },
  stop: async () => {
    await sampler.stop()
    await projector.stop()
  },
})
