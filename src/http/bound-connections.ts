import type { Socket } from 'node:net'
import type { Ticks } from '#src/lib/clock.ts'

/** A connection without a request for this long is one that its sender does not need at the moment. */
const quietMsMin = 1_000
const checkEveryMs = 1_000

type Bound = Readonly<{
  /** How many connections may be open while some of them are idle. */
  max: number
  /** Called with how many idle ones were closed to make room. */
  onClosed: (count: number) => void
  ticks: Ticks
}>

/** Since when nothing has come on a connection, and how much had come until then. */
type Quiet = Readonly<{ since: number; bytesRead: number }>

export type BoundConnections = Readonly<{
  opened(socket: Socket): void
  /** A request has come on it. */
  asked(socket: Socket): void
  /** That request has been answered, or has failed. */
  answered(socket: Socket): void
  count(): number
  /** Closes connections on which nothing has come yet. Browsers open such ones in advance; to Node they are not idle. */
  closeSilent(): void
  end(): void
}>

/**
 * Keeps the number of connections bounded: above it, idle ones are closed. Otherwise kept-alive connections could use all files that the process may
 * open, and new senders would wait. Those that have asked nothing go first, then the one idle for longest; never one in use, however many there are.
 * A connection that was just opened is about to ask, so it stays.
 */
export function boundConnections({ max, onClosed, ticks }: Bound): BoundConnections {
  // In the order of `since`.
  const unasked = new Map<Socket, Quiet>()
  const idle = new Map<Socket, Quiet>()
  // How many requests are under way: there may be several.
  const busy = new Map<Socket, number>()
  const count = (): number => unasked.size + idle.size + busy.size
  const makeRoom = (): void => {
    const quietSince = ticks() - quietMsMin
    const most = count() - max
    let closed = 0
    for (const quiet of [unasked, idle]) {
      for (const [socket, { since, bytesRead }] of quiet) {
        if (closed >= most || since > quietSince) break
        quiet.delete(socket)
        if (socket.bytesRead > bytesRead) {
          // It may be the beginning of a request in several packets: the connection counts as quiet from now on.
          quiet.set(socket, { since: ticks(), bytesRead: socket.bytesRead })
          continue
        }
        socket.destroy()
        closed++
      }
    }
    if (closed > 0) onClosed(closed)
  }
  let isDue = false
  /** Reads what has come first: a connection that seems idle may have asked while this thread was busy, and not every sender asks again. */
  const makeRoomSoon = (): void => {
    if (isDue || count() <= max) return
    isDue = true
    setImmediate(() =>
      setImmediate(() => {
        isDue = false
        makeRoom()
      }),
    )
  }
  const timer = setInterval(makeRoomSoon, checkEveryMs)
  timer.unref()
  return {
    opened(socket) {
      unasked.set(socket, { since: ticks(), bytesRead: 0 })
      socket.once('close', () => [unasked, idle, busy].forEach((sockets) => sockets.delete(socket)))
      makeRoomSoon()
    },
    asked(socket) {
      unasked.delete(socket)
      idle.delete(socket)
      busy.set(socket, (busy.get(socket) ?? 0) + 1)
    },
    answered(socket) {
      const requests = busy.get(socket)
      // The connection is gone.
      if (requests === undefined) return
      if (requests > 1) busy.set(socket, requests - 1)
      else {
        busy.delete(socket)
        idle.set(socket, { since: ticks(), bytesRead: socket.bytesRead })
      }
    },
    count,
    closeSilent() {
      for (const socket of unasked.keys()) if (socket.bytesRead === 0) socket.destroy()
    },
    end: () => clearInterval(timer),
  }
}
