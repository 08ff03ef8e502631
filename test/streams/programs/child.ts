import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createInterface } from 'node:readline'

type Child = Readonly<{
  pid: number
  lines: readonly string[]
  /** Resolves when it has printed so many lines, or has ended. */
  printed(count: number): Promise<void>
  /** Resolves when it has ended and all it printed is here. */
  ended: Promise<void>
  kill(): Promise<void>
}>

/** Starts a program of this folder, its file sizes limited to so many 512-byte blocks where that is asked for. */
export function startProgram(name: string, args: readonly string[], fileBlocksMax?: number): Child {
  const file = fileURLToPath(new URL(name, import.meta.url))
  const limit = fileBlocksMax === undefined ? '' : `ulimit -f ${fileBlocksMax}; `
  const shell = ['-c', `${limit}exec "$0" "$@"`, process.execPath, file, ...args]
  const child = spawn('/bin/sh', shell, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines: string[] = []
  const listeners = new Set<() => void>()
  const notify = (): void => listeners.forEach((listener) => listener())
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    notify()
  })
  let over = false
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      over = true
      notify()
      resolve()
    })
  })
  return {
    pid: child.pid ?? 0,
    lines,
    ended,
    printed: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (lines.length < count && !over) return
          listeners.delete(check)
          resolve()
        }
        listeners.add(check)
        check()
      }),
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
