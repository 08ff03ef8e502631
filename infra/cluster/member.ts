import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export type Role = 'ingest' | 'project' | 'query'

/** One process of the cluster, which is started again when it ends by itself. */
export type Member = Readonly<{
  name: string
  role: Role
  /** `host:port`, while it listens. */
  address(): string | undefined
  /** SIGTERM, and until it is gone for good. */
  stop(): Promise<void>
}>

type Options = Readonly<{
  name: string
  role: Role
  environment: NodeJS.ProcessEnv
  /** Hears what it prints, line by line. */
  print: (line: string) => void
}>

const restartPauseMs = 1_000
/** What a server prints when its first worker serves; a projector has no address. */
const started = /^Throughline (?:listening on http:\/\/(\S+)|folding) \(role/

type Run = Readonly<{
  child: ChildProcess
  address: () => string | undefined
  ready: Promise<void>
  ended: Promise<void>
}>

function startRun({ role, environment, print }: Options): Run {
  const child = spawn(process.execPath, ['src/main.ts', role, '--port', '0', '--host', '127.0.0.1'], {
    env: environment,
    // It stops when this channel closes, however we end.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const up = Promise.withResolvers<void>()
  let address: string | undefined
  for (const output of [child.stdout, child.stderr]) {
    if (output === null) continue
    createInterface({ input: output }).on('line', (line) => {
      const found = started.exec(line)
      if (found === null) return print(line)
      address = found[1]
      up.resolve()
    })
  }
  // All that it printed has been read by then.
  const ended = once(child, 'close').then(([code, signal]: readonly unknown[]) => {
    address = undefined
    up.reject(new Error(`it ended (${String(signal ?? code)}) before it served`))
  })
  up.promise.catch(() => undefined)
  return { child, address: () => address, ready: up.promise, ended }
}

/** Starts it; rejects when it does not come to serve. */
export async function startMember(options: Options): Promise<Member> {
  const { name, role, print } = options
  let run = startRun(options)
  let isStopping = false
  let pause: NodeJS.Timeout | undefined
  const keep = (): void => {
    const restart = (): void => {
      run = startRun(options)
      keep()
    }
    void run.ended.then(() => {
      if (isStopping) return
      print('it has ended; it is started again')
      pause = setTimeout(restart, restartPauseMs)
    })
  }
  await run.ready
  keep()
  return {
    name,
    role,
    address: () => run.address(),
    stop: async () => {
      isStopping = true
      clearTimeout(pause)
      run.child.kill('SIGTERM')
      await run.ended
    },
  }
}
