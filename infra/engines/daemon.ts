import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** A program to run. `user`: as whom; needs us to be root. */
export type Launch = Readonly<{
  command: string
  args: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
  user?: number | undefined
}>

const stopTimeoutMs = 60_000
const logLinesShown = 20

/**
 * Ends with us, however we end: its input is a pipe that closes when our process is gone. Then it kills what runs in the folder and
 * removes the folder. It leads a group of its own, which neither Ctrl-C nor a signal to ours reaches.
 */
const keeper = `
read line
[ -s "$1/group" ] && kill -s KILL -- "-$(cat "$1/group")"
rm -rf "$1" || { sleep 1; rm -rf "$1"; }`

function startKeeper(folder: string): ChildProcess {
  const child = spawn('/bin/sh', ['-c', keeper, 'keeper', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return child
}

/** A folder of its own under the system's temporary one, and at most one program that runs in it. */
export type Daemon = Readonly<{
  folder: string
  /** Starts the program; resolves when `isReady` says so, rejects with the end of its log when it ends or takes too long. */
  start(launch: Launch, isReady: () => Promise<boolean>, timeoutMs: number): Promise<void>
  /** Sends the signal to the program (SIGKILL: to its whole group), and waits until all of its group is gone. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Sends the signal to the whole group, if the program runs. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Ends the program and removes the folder. */
  remove(): Promise<void>
  group(): number | undefined
}>

export function createDaemon(name: string): Daemon {
  const folder = mkdtempSync(join(tmpdir(), `throughline-${name}-`))
  const log = join(folder, 'log')
  const groupFile = join(folder, 'group')
  const guard = startKeeper(folder)
  let running: Readonly<{ child: ChildProcess; gone: Promise<void> }> | undefined

  function run({ command, args, environment, user }: Launch): void {
    const child = spawn(command, [...args], {
      cwd: folder,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...(user === undefined ? {} : { uid: user, gid: user }),
    })
    if (child.pid !== undefined) writeFileSync(groupFile, String(child.pid))
    child.unref()
    for (const output of [child.stdout, child.stderr]) {
      output.on('data', (chunk: Buffer) => appendFileSync(log, chunk))
      ;(output as unknown as { unref(): void }).unref()
    }
    child.on('error', (failure) => appendFileSync(log, `${failure.message}\n`))
    // `close`, not `exit`: when nobody holds its output any more, its children are gone too.
    const gone = new Promise<void>((resolve) => {
      child.once('close', () => {
        running = undefined
        rmSync(groupFile, { force: true })
        resolve()
      })
    })
    running = { child, gone }
  }

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (running === undefined) return
    const { child, gone } = running
    if (signal === 'SIGKILL') signalGroup(child.pid, signal)
    else child.kill(signal)
    const overdue = new AbortController()
    const isLate = setTimeout(stopTimeoutMs, true, { signal: overdue.signal }).catch(() => false)
    if ((await Promise.race([gone, isLate])) === true) signalGroup(child.pid, 'SIGKILL')
    overdue.abort()
    await gone
  }

  return {
    folder,
    start: async (launch, isReady, timeoutMs) => {
      run(launch)
      const deadline = Date.now() + timeoutMs
      while (!(await isReady())) {
        if (running !== undefined && Date.now() < deadline) await setTimeout(50)
        else {
          const what = running === undefined ? 'ended' : `was not ready after ${timeoutMs / 1000} s`
          await end('SIGKILL')
          throw new Error(`${name} ${what}. The end of its log:\n${tail(log)}`)
        }
      }
    },
    end,
    signal: (signal) => signalGroup(running?.child.pid, signal),
    remove: async () => {
      await end('SIGTERM')
      const gone = once(guard, 'close')
      guard.ref()
      guard.stdin?.end()
      await gone
    },
    group: () => running?.child.pid,
  }
}

function signalGroup(group: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (group !== undefined) process.kill(-group, signal)
  } catch {
    // Nobody is left in it.
  }
}

function tail(log: string): string {
  try {
    return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-logLinesShown).join('\n')
  } catch {
    return '(it wrote none)'
  }
}
