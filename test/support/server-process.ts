import { spawn, type ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'

/** A program that leads a process group of its own. */
export type ServerProcess = Readonly<{
  child: ChildProcess
  /** What it prints, line by line. */
  lines: readonly string[]
  /** Resolves with the first line printed from now on, or from `from` on, that fits; rejects when it has ended. */
  printed(pattern: RegExp, from?: number): Promise<string>
  /** SIGTERM, and until it is gone. */
  stop(): Promise<void>
  /** SIGKILL to all of its group at once, and until they are gone. */
  kill(): Promise<void>
}>

function readOutput(child: ChildProcess): Pick<ServerProcess, 'lines' | 'printed'> {
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
// A signal that nobody hears ends a process without its `exit`.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

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

export function startProcess(argv: readonly string[], environment: NodeJS.ProcessEnv): ServerProcess {
  const child = spawn(process.execPath, argv, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const group = child.pid ?? 0
  groups.add(group)
  child.once('close', () => groups.delete(group))
  return {
    child,
    ...readOutput(child),
    stop: () => end(child, () => child.kill('SIGTERM')),
    kill: () => end(child, () => signalGroup(group, 'SIGKILL')),
  }
}
