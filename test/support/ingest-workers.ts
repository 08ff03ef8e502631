import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A process that takes requests on a data folder, beside others; killed and started again at the same address. */
export type IngestWorker = Readonly<{
  url: string
  /** SIGKILL, and a new one in its place; resolves when that one listens. */
  crash(): Promise<void>
  /** SIGTERM, and until it is gone; its exit code. */
  stop(): Promise<number | null>
}>

async function start(dataFolder: string, port: number): Promise<Readonly<{ child: ChildProcess; url: string }>> {
  const argv = ['test/e2e/programs/ingest-worker.ts', '--data', dataFolder, '--port', String(port)]
  const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  const [url] = (await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the worker has ended (${String(code)})`)
    }),
  ])) as [string]
  return { child, url }
}

export async function startIngestWorker(dataFolder: string): Promise<IngestWorker> {
  const first = await start(dataFolder, 0)
  const { url } = first
  let { child } = first
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    const gone = once(child, 'exit')
    child.kill(signal)
    const [code] = (await gone) as [number | null]
    return code
  }
  let restarted = Promise.resolve()
  return {
    url,
    crash: () => {
      restarted = restarted.then(async () => {
        await end('SIGKILL')
        child = (await start(dataFolder, Number(new URL(url).port))).child
      })
      return restarted
    },
    stop: async () => {
      await restarted
      return end('SIGTERM')
    },
  }
}
