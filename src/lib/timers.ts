import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'

/** Timers as they are passed in, so that a simulation can drive them. */
export type Timers = Readonly<{
  /** Runs the task each `ms`; the answer stops it. */
  every(ms: number, task: () => void): () => void
  /** Resolves after `ms`, or when the signal aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>
  /** Resolves when messages, timers and all else that is due have had their turn: who never waits for anything keeps them from it. */
  turn(): Promise<void>
}>

/** Timers of the process. */
export const systemTimers: Timers = {
  every(ms, task) {
    const timer = setInterval(task, ms)
    return () => clearInterval(timer)
  },
  pause: (ms, signal) => pause(ms, undefined, { signal }).catch(() => undefined),
  turn: () => turn(),
}
