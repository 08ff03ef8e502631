import { TransientError } from '#src/lib/failure.ts'
import type { Timers } from '#src/lib/timers.ts'
import type { Grant, SpansAsked } from './allowance.ts'

type Waiter = Readonly<{
  asked: SpansAsked
  resolve: (grant: Grant | 'pending') => void
  reject: (error: unknown) => void
}> & { polls: number }

/** Requests that wait for spans, in the order they asked. */
export function createWaiting(waitingMax: number) {
  let waiting: Waiter[] = []
  return {
    isEmpty: () => waiting.length === 0,
    first: () => waiting[0],
    shift: () => waiting.shift(),
    join: (asked: SpansAsked): Promise<Grant | 'pending'> => {
      const hint = 'too many requests wait for spans that others hold'
      if (waiting.length >= waitingMax) throw new TransientError({ operation: 'reserve spans', subject: '', hint })
      return new Promise((resolve, reject) => waiting.push({ asked, resolve, reject, polls: 0 }))
    },
    /** What the first requests ask for, as long as they have the same limit. */
    asked: (limit: number | null): readonly number[] => {
      const other = waiting.findIndex(({ asked }) => asked.limit !== limit)
      return waiting.slice(0, other < 0 ? undefined : other).map(({ asked }) => asked.spans)
    },
    /** Nothing has come free: those who have waited long enough are told to come again. */
    disappoint: (pollsMax: number): void => {
      for (const waiter of waiting) if (++waiter.polls >= pollsMax) waiter.resolve('pending')
      waiting = waiting.filter(({ polls }) => polls < pollsMax)
    },
    fail: (error: unknown): void => {
      const all = waiting
      waiting = []
      for (const { reject } of all) reject(error)
    },
  }
}

/** Wakes those who wait for spans, when some have or may have come free. */
export function createBell(timers: Timers, signal: AbortSignal) {
  let ring = (): void => {}
  return {
    ring: () => ring(),
    /** True when it rang within the time. */
    wait: (ms: number): Promise<boolean> => {
      const rung = new Promise<boolean>((resolve) => {
        ring = () => resolve(true)
      })
      return Promise.race([rung, timers.pause(ms, signal).then(() => false)])
    },
  }
}

export type Waiting = ReturnType<typeof createWaiting>
export type Bell = ReturnType<typeof createBell>
