import type { Position } from '#src/events/envelope.ts'
import { createWaiters, type Waiters } from '../waiters.ts'
import type { Nats } from './nats.ts'
import { headOf } from './reader.ts'

/** The server announces each stored message once; an announcement that is lost is not repeated. */
const lookEveryMs = 1_000

export type Waker = Pick<Waiters, 'wait'> &
  Readonly<{
    /** The head is at least at this position. */
    wake(head: Position): void
    /** Asks for the head. Earlier announcements may have been wrong, if a batch was announced and then failed. */
    head(): Promise<Position>
    close(): void
  }>

/**
 * Resolves `changed` calls when the server announces new messages. Listens from the first call on. While somebody waits it also checks the head
 * now and then, and after each reconnect.
 */
export function createWaker(nats: Nats, storedSubject: string, head: () => Promise<Position>): Waker {
  let known: Position = 0
  const waiters = createWaiters(() => known)
  let timer: NodeJS.Timeout | undefined
  let listening = false
  let stop = (): void => undefined
  let closed = false
  let heard = 0

  const wake = (to: Position): void => {
    heard++
    known = Math.max(known, to)
    waiters.wake(known)
  }
  const ask = async (): Promise<Position> => {
    const before = heard
    const to = await head()
    // An announcement that came meanwhile is newer than this answer.
    if (heard === before) known = to
    waiters.wake(known)
    return to
  }
  const look = async (): Promise<void> => {
    timer = undefined
    try {
      await ask()
      // An older state of the log was put back: the next read of who was further says that it has lost its tail.
      waiters.wakeBeyond(known)
    } catch {
      // If the head cannot be read, wake everybody: their next read reports the failure.
      waiters.wake(Number.POSITIVE_INFINITY)
    }
    if (waiters.waiting()) timer ??= setTimeout(() => void look(), lookEveryMs).unref()
  }
  const listen = async (): Promise<void> => {
    listening = true
    const forget = nats.onReconnect(() => waiters.wake(Number.POSITIVE_INFINITY))
    try {
      const unsubscribe = await nats.subscribe(`${storedSubject}.>`, (stored) =>
        wake(headOf(Number(stored.header('Nats-Sequence')))),
      )
      stop = () => {
        forget()
        unsubscribe()
      }
      if (closed) stop()
    } catch {
      // There is no connection; the next wait tries again.
      forget()
      listening = false
    }
    await look()
  }

  return {
    wait: (after, signal) => {
      const waited = waiters.wait(after, signal)
      if (!waiters.waiting()) return waited
      if (!listening) void listen()
      else timer ??= setTimeout(() => void look(), lookEveryMs).unref()
      return waited
    },
    wake,
    head: ask,
    close: () => {
      closed = true
      clearTimeout(timer)
      stop()
      waiters.close()
    },
  }
}
