import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { cli } from '#test/support/cli.ts'
import { freePort } from '#test/support/free-port.ts'
import { newDataFolder, removeFolder, startServer, type Server } from '#test/support/server.ts'
import { createBenchClient, createPost, signIn, type BenchClient } from './bench-client.ts'
import { allOf, forgetPeak, peakBytes, readUsage, usedBetween, type Cpu } from './process-usage.ts'

export type Cost = Readonly<{ cpu: Cpu; seconds: number; peakBytes: number }>
export type Sizes = Readonly<{ log: number; index: number }>

/** The server under test, as anybody starts it, in a data folder that goes with it. */
export type BenchServer = BenchClient &
  Readonly<{
    server: Server
    measure<T>(work: () => Promise<T>): Promise<Readonly<{ result: T; cost: Cost }>>
    /** Stops it; what it has left on the disk. */
    stop(): Promise<Sizes>
    remove(): Promise<void>
  }>

/** More than one, because each key may only send so many requests a second. */
export const logKeys = 4

export function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  return entries.reduce(
    (sum, entry) => sum + (entry.isFile() ? statSync(join(entry.parentPath, entry.name)).size : 0),
    0,
  )
}

async function makeLogKeys(server: Server): Promise<readonly string[]> {
  const keys = [server.firstRun.keys.logs]
  while (keys.length < logKeys) {
    const made = await cli(server, 'key', 'create', '--workspace', 'default', '--kind', 'logs')
    keys.push(String(made['secret']))
  }
  return keys
}

/** Starts the real server on a folder of its own, with a plan that has no allowance to run into. */
async function startBenchServer(): Promise<BenchServer> {
  const dataFolder = await newDataFolder()
  // An interrupted run leaves nothing behind, nor does one whose server does not start.
  let kill = (): void => {}
  process.once('exit', () => {
    kill()
    rmSync(dataFolder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  })
  const server = await startServer({
    dataFolder,
    // For the inspector (pause-thread.ts): not 0, because node:cluster gives its workers the ports that follow.
    environment: { NODE_OPTIONS: `--inspect-port=127.0.0.1:${await freePort()}` },
  })
  kill = () => void server.process.kill('SIGKILL')
  const pid = server.process.pid ?? 0
  await cli(server, 'workspace', 'plan', 'default', 'unlimited')
  const keys = { traces: [server.firstRun.keys.tracing], logs: await makeLogKeys(server) }
  const { baseUrl } = server
  const cookie = await signIn(baseUrl, server.firstRun.sign_in)
  return {
    ...createBenchClient({ baseUrl, cookie, post: createPost(baseUrl, keys) }),
    server,
    async measure(work) {
      forgetPeak(pid)
      const [start, before] = [performance.now(), readUsage(pid)]
      const result = await work()
      const cpu = usedBetween(before, readUsage(pid))
      return { result, cost: { cpu, seconds: (performance.now() - start) / 1_000, peakBytes: peakBytes(pid) } }
    },
    async stop() {
      await server.stop()
      return { log: bytesIn(join(server.dataFolder, 'log')), index: bytesIn(join(server.dataFolder, 'index')) }
    },
    async remove() {
      await server.kill()
      await removeFolder(server.dataFolder)
    },
  }
}

/** Runs `work` with a server of its own, which is gone afterwards whatever happens. */
export async function withServer<T>(work: (server: BenchServer) => Promise<T>): Promise<T> {
  const server = await startBenchServer()
  try {
    return await work(server)
  } catch (error) {
    // What the server said of it; its first lines are the keys.
    console.error(
      server.server.output
        .filter((line) => /failed|Error|ended|stopped|again/.test(line))
        .slice(-10)
        .join('\n'),
    )
    throw error
  } finally {
    await server.remove()
  }
}

export const totalCpu = ({ cpu }: Cost): number => allOf(cpu)
