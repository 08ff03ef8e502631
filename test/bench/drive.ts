import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { DriverAnswer, DriverTask } from './driver-task.ts'

/** Starts a program of this folder as a process that takes and gives messages. */
export function startProgram(name: string, ...argv: readonly string[]): ChildProcess {
  const env = { ...process.env, NODE_OPTIONS: '' }
  return fork(fileURLToPath(new URL(name, import.meta.url)), argv, { serialization: 'advanced', env })
}

/** The next message of a program; rejects when it ends first. */
export async function nextMessage<T>(program: ChildProcess): Promise<T> {
  const settled = new AbortController()
  const ended = once(program, 'exit', { signal: settled.signal }).then(() => {
    throw new Error(`${program.spawnfile} ended without an answer`)
  })
  try {
    const [message] = (await Promise.race([once(program, 'message', { signal: settled.signal }), ended])) as [T]
    return message
  } finally {
    settled.abort()
    ended.catch(() => {})
  }
}

export type Driver = Readonly<{ run(task: DriverTask): Promise<DriverAnswer>; stop(): void }>

export function startDriver(): Driver {
  const program = startProgram('driver.ts')
  return {
    async run(task) {
      program.send(task)
      const { answer, error } = await nextMessage<{ answer?: DriverAnswer; error?: string }>(program)
      if (answer === undefined) throw new Error(`the load driver failed: ${error}`)
      return answer
    },
    stop: () => void program.kill(),
  }
}
