import { resolve } from 'node:path'
import { BroadcastChannel } from 'node:worker_threads'
import type { Position } from '#src/events/envelope.ts'
import { createWaiters, type Waiters } from '../waiters.ts'

const channelName = (file: string): string => `throughline.log:${resolve(file)}`

export type Announcer = Readonly<{ announce(head: Position): void; close(): void }>

/** Tells every thread of this process that the log has grown. */
export function createAnnouncer(file: string): Announcer {
  const channel = new BroadcastChannel(channelName(file))
  channel.unref()
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
    announce: (head) => channel.postMessage(head),
    close: () => channel.close(),
  }
}

/**
 * Wakes those who wait for the log to grow: at once when a thread of this process wrote, and by a look at the head every
 * `pollMs` when another process did. Looks only while somebody waits, and keeps no process alive.
 */
export function createWaker(file: string, head: () => Position, pollMs: number): Pick<Waiters, 'wait' | 'close'> {
  // A head that cannot be read wakes everybody: the read that follows says what is wrong.
  const safeHead = (): Position => {
    try {
      return head()
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }
  const waiters = createWaiters(safeHead)
  const channel = new BroadcastChannel(channelName(file))
  const hear = (event: Event): void => {
    const { data } = event as MessageEvent
    if (typeof data === 'number') waiters.wake(data)
  }
  channel.addEventListener('message', hear)
  channel.unref()
  let timer: NodeJS.Timeout | undefined
  const look = (): void => {
    waiters.wake(safeHead())
    timer = waiters.waiting() ? setTimeout(look, pollMs).unref() : undefined
  }
  return {
    wait: (after, signal) => {
      const waited = waiters.wait(after, signal)
      timer ??= setTimeout(look, pollMs).unref()
      return waited
    },
    close: () => {
      clearTimeout(timer)
      channel.close()
      waiters.close()
    },
  }
}
