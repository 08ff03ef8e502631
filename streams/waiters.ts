import type { Position } from '#src/events/envelope.ts'

export type Waiters = Readonly<{
  /** Resolves when the head is past `after`, the signal aborts or the waiters are closed; never rejects. */
  wait(after: Position, signal: AbortSignal): Promise<void>
  /** Resolves all waits for a head below this one. */
  wake(head: Position): void
  /** Resolves all waits for what comes after a place beyond this head. */
  wakeBeyond(head: Position): void
  waiting(): boolean
  close(): void
}>

/** The pending `changed` calls of a stream. `head` returns the current head. */
export function createWaiters(head: () => Position): Waiters {
  const waiting = new Map<() => void, Position>()
  let closed = false
  return {
    wait: (after, signal) =>
      new Promise((resolve) => {
        if (signal.aborted || closed || head() > after) return resolve()
        const release = (): void => {
          waiting.delete(release)
          signal.removeEventListener('abort', release)
          resolve()
        }
        waiting.set(release, after)
        signal.addEventListener('abort', release)
      }),
    wake: (head) => {
      for (const [release, after] of waiting) if (head > after) release()
    },
    wakeBeyond: (head) => {
      for (const [release, after] of waiting) if (after > head) release()
    },
    waiting: () => waiting.size > 0,
    close: () => {
      closed = true
      for (const release of waiting.keys()) release()
    },
  }
}
