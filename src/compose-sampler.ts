import { Worker } from 'node:worker_threads'

/** What a sample found: how many entries of a workspace were compared, and how many were not what the log says. */
export type Sampled = Readonly<{
  projection: string
  index: string
  workspaceId: string
  entries: number
  different: number
}>

export type SamplerData = Readonly<{ dataFolder: string; eventsPerSecondMax: number }>
export type SamplerOptions = SamplerData & Readonly<{ everyMs: number }>

export type Sampler = Readonly<{
  start(): void
  /** Resolves when no sample is under way any more. */
  stop(): Promise<void>
  /** Whoever listens hears of each sample; `error` of one that could not be taken. */
  listen(onSample: (sample: Sampled | Readonly<{ error: Error }>) => void): void
}>

/** Compares a part of an index with the log from time to time, as long as it is started, one sample at a time. */
export function createSampler({ everyMs, ...data }: SamplerOptions): Sampler {
  const listeners: ((sample: Sampled | Readonly<{ error: Error }>) => void)[] = []
  let timer: NodeJS.Timeout | undefined
  let current: Worker | undefined
  const tell = (sample: Sampled | Readonly<{ error: Error }>): void => listeners.forEach((listener) => listener(sample))
  const take = (): void => {
    if (current !== undefined) return
    const thread = new Worker(new URL('compose-sample-thread.ts', import.meta.url), {
      workerData: data,
      name: 'sample',
    })
    current = thread
    thread.on('message', tell)
    thread.on('error', (error: Error) => tell({ error }))
    thread.once('exit', () => (current = undefined))
  }
  return {
    start: () => {
      timer ??= setInterval(take, everyMs).unref()
    },
    stop: async () => {
      clearInterval(timer)
      timer = undefined
      await current?.terminate()
    },
    listen: (onSample) => void listeners.push(onSample),
  }
}
