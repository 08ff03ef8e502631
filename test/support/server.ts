import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bringCluster, removeCluster } from './clusters.ts'
import { startProcess, type ServerProcess } from './server-process.ts'

export type FirstRun = Readonly<{
  base_url: string
  workspace: string
  sign_in: Readonly<{ email: string; password: string }>
  keys: Readonly<{ publishable: string; logs: string; tracing: string; api: string }>
}>

/** A real server: processes of its own, real engines. `dataFolder` stands for the installation. */
export type Server = Readonly<{
  baseUrl: string
  dataFolder: string
  firstRun: FirstRun
  process: ChildProcess
  output: readonly string[]
  /** SIGTERM, and until it is gone. */
  stop(): Promise<void>
  /** SIGKILL to all of its processes at once, and until they are gone. */
  kill(): Promise<void>
  /** The process that serves: `process` is its parent. */
  workerPid(): number
  /** Replaces the worker as an operator does; resolves when the new one serves. */
  replace(): Promise<void>
  /** Resolves with the first line printed from now on, or from `from` on, that fits; rejects when the server has ended. */
  printed(pattern: RegExp, from?: number): Promise<string>
}>

type ServerOptions = Readonly<{
  dataFolder?: string
  port?: number
  environment?: Readonly<Record<string, string>>
  form?: 'embedded' | 'cluster'
}>

export const newDataFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'throughline-'))
/** Removes a data folder, and what its server had in the engines of a cluster. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  await removeCluster(folder)
}

/** The environment of a server that gives a body all the time that it takes: for those that are held back while workers are started. */
export const patientWithBodies = {
  NODE_OPTIONS: `--import=${new URL('./patient-with-bodies.ts', import.meta.url).href}`,
}

const serving = /^worker (\d+) (?:serves|has taken over from \d+)$/

/** Which form of the server the tests of this process meet. */
export const isCluster = process.env['THROUGHLINE_FORM'] === 'cluster'
const defaultForm = isCluster ? 'cluster' : 'embedded'

async function startForm(
  dataFolder: string,
  { port = 0, environment, form = defaultForm }: ServerOptions,
): Promise<ServerProcess> {
  const place = ['--port', String(port), '--host', '127.0.0.1']
  if (form === 'embedded') {
    return startProcess(['src/main.ts', ...place], { ...environment, THROUGHLINE_DATA: dataFolder })
  }
  const cluster = await bringCluster(dataFolder)
  const counts = ['--ingest', '2', '--project', '1', '--query', '2']
  const argv = ['infra/cluster/cluster.ts', ...counts, ...place, '--data', dataFolder]
  return startProcess(argv, { ...cluster.environment, ...environment })
}

/** Starts the server from its sources on a free port; resolves when it listens. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const dataFolder = options.dataFolder ?? (await newDataFolder())
  const { child, lines, printed, stop, kill } = await startForm(dataFolder, options)
  const listening = await printed(/^Throughline listening on http\S+/, 0)
  const firstRun = JSON.parse(await readFile(join(dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  return {
    baseUrl: /listening on (http\S+)/.exec(listening)?.[1] ?? '',
    dataFolder,
    firstRun,
    process: child,
    output: lines,
    stop,
    kill,
    workerPid: () => Number(serving.exec(lines.findLast((line) => serving.test(line)) ?? '')?.[1]),
    replace: async () => {
      const outcome = printed(/^worker \d+ has taken over|^the replacement was given up/)
      child.kill('SIGHUP')
      const line = await outcome
      if (!serving.test(line)) throw new Error(line)
    },
    printed,
  }
}
