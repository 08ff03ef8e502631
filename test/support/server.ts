import { spawn, type ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
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
  /** SIGKILL to all of its processes at once, and until they are gone. */
  kill(): Promise<void>
  /** The process that serves: `process` is its parent. */
  workerPid(): number
  /** Replaces the worker as an operator does; resolves when the new one serves. */
  replace(): Promise<void>
  /** Resolves with the first line printed from now on, or from `from` on, that fits; rejects when the server has ended. */
  printed(pattern: RegExp, from?: number): Promise<string>
}>

export type ServerOptions = Readonly<{
  dataFolder?: string
  port?: number
  environment?: Readonly<Record<string, string>>
}>

/** What a server prints, line by line. */
type Output = Readonly<{
  lines: readonly string[]
  printed(pattern: RegExp, from?: number): Promise<string>
}>

function readOutput(child: ChildProcess): Output {
  const lines: string[] = []
  const heard = new EventEmitter()
  heard.setMaxListeners(0)
  let ended: string | undefined
  for (const output of [child.stdout, child.stderr]) {
    if (output === null) continue
    createInterface({ input: output }).on('line', (line) => {
      lines.push(line)
      heard.emit('more')
    })
  }
  child.once('close', (code, signal) => {
    ended = String(code ?? signal)
    heard.emit('more')
  })
  return {
    lines,
    printed: async (pattern, from = lines.length) => {
      for (let index = from; ; index++) {
        while (index >= lines.length) {
          if (ended !== undefined) throw new Error(`server ended (${ended}):\n${lines.join('\n')}`)
          await once(heard, 'more')
        }
        const line = lines[index] ?? ''
        if (pattern.test(line)) return line
      }
    },
  }
}

/** Servers that are to be killed with this process: each leads a process group of its own, which Ctrl-C does not reach. */
const groups = new Set<number>()
process.once('exit', () => {
  for (const group of groups) signalGroup(group, 'SIGKILL')
})

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch {
    // Nobody is left in it.
  }
}

/** `close`, not `exit`: when nobody holds its output any more, its worker is gone too. */
async function end(child: ChildProcess, signal: () => void): Promise<void> {
  if (child.stdout?.closed === true) return
  const gone = once(child, 'close')
  signal()
  await gone
}

export const newDataFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'throughline-'))
export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 3 })

const serving = /^worker (\d+) (?:serves|has taken over from \d+)$/

/** Starts the server from its sources on a free port; resolves when it listens. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const dataFolder = options.dataFolder ?? (await newDataFolder())
  const child = spawn(process.execPath, ['src/main.ts', '--port', String(options.port ?? 0), '--host', '127.0.0.1'], {
    env: { ...process.env, ...options.environment, THROUGHLINE_DATA: dataFolder },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const group = child.pid ?? 0
  groups.add(group)
  child.once('close', () => groups.delete(group))
  const { lines, printed } = readOutput(child)
  const listening = await printed(/listening on http\S+/, 0)
  const firstRun = JSON.parse(await readFile(join(dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  return {
    baseUrl: /listening on (http\S+)/.exec(listening)?.[1] ?? '',
    dataFolder,
    firstRun,
    process: child,
    output: lines,
    stop: () => end(child, () => child.kill('SIGTERM')),
    kill: () => end(child, () => signalGroup(group, 'SIGKILL')),
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
