import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export type FirstRun = Readonly<{
  base_url: string
  workspace: string
  sign_in: Readonly<{ email: string; password: string }>
  keys: Readonly<{ publishable: string; logs: string; tracing: string; api: string }>
}>

/** A real server: its own process, its own data folder, real SQLite. */
export type Server = Readonly<{
  baseUrl: string
  dataFolder: string
  firstRun: FirstRun
  process: ChildProcess
  output: readonly string[]
  /** SIGTERM, and until it is gone. */
  stop(): Promise<void>
  /** SIGKILL, and until it is gone. */
  kill(): Promise<void>
}>

export type ServerOptions = Readonly<{
  dataFolder?: string
  port?: number
  environment?: Readonly<Record<string, string>>
}>

async function listening(child: ChildProcess, output: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const take = (line: string): void => {
      output.push(line)
      const url = /listening on (http\S+)/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    }
    if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', take)
    if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', take)
    child.once('exit', (code, signal) => reject(new Error(`server ended (${code ?? signal}):\n${output.join('\n')}`)))
  })
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

export const newDataFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'throughline-'))
export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 3 })

/** Starts the server from its sources on a free port; resolves when it listens. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const dataFolder = options.dataFolder ?? (await newDataFolder())
  const child = spawn(process.execPath, ['src/main.ts', '--port', String(options.port ?? 0), '--host', '127.0.0.1'], {
    env: { ...process.env, ...options.environment, THROUGHLINE_DATA: dataFolder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: string[] = []
  const baseUrl = await listening(child, output)
  const firstRun = JSON.parse(await readFile(join(dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  return {
    baseUrl,
    dataFolder,
    firstRun,
    process: child,
    output,
    stop: () => end(child, 'SIGTERM'),
    kill: () => end(child, 'SIGKILL'),
  }
}
