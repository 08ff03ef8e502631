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
 * Wakes those who wait for the log to grow: at once after a write of this process, and within `pollMs` after a write of another, by reading
 * the head. It polls only while somebody waits, and does not keep the process alive.
 */
export function createWaker(file: string, head: () => Position, pollMs: number): Pick<Waiters, 'wait' | 'close'> {
  // If the head cannot be read, everybody wakes: the read that follows reports the error.
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
