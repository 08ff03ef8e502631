import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'

/** Timers, passed in so that a simulation can drive them. */
export type Timers = Readonly<{
  /** Runs the task every `ms`; the returned function stops it. */
  every(ms: number, task: () => void): () => void
  /** Resolves after `ms`, or when the signal aborts, if there is one. */
  pause(ms: number, signal?: AbortSignal): Promise<void>
  /** Resolves after messages, timers and everything else due have had their turn. A loop that never waits would starve them. */
  turn(): Promise<void>
}>

/** Timers of the process. */
export const systemTimers: Timers = {
  every(ms, task) {
    const timer = setInterval(task, ms)
    return () => clearInterval(timer)
  },
  pause: (ms, signal) => pause(ms, undefined, signal && { signal }).catch(() => undefined),
  turn: () => turn(),
}

/** Timers whose tasks of one interval all run in the same turn of the event loop, whenever they began. */
export function inStep(timers: Timers): Timers {
  const steps = new Map<number, Readonly<{ tasks: Set<() => void>; stop: () => void }>>()
  const begin = (ms: number) => {
    const tasks = new Set<() => void>()
    const step = { tasks, stop: timers.every(ms, () => tasks.forEach((task) => task())) }
    steps.set(ms, step)
    return step
  }
  return {
    ...timers,
    every(ms, task) {
      const { tasks, stop } = steps.get(ms) ?? begin(ms)
      const own = (): void => task()
      tasks.add(own)
      return () => {
        if (!tasks.delete(own) || tasks.size > 0) return
        stop()
        steps.delete(ms)
      }
    },
  }
}
