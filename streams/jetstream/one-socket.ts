import type { Socket } from 'node:net'
import type { NatsConnection } from 'nats'
import { hearSockets } from './own-sockets.ts'

/** What the client keeps to itself: it makes a transport for each attempt to connect. */
type Transport = { connect(...server: readonly unknown[]): Promise<void>; readonly socket?: Socket }
type Protocol = { transport?: Transport; prepare(): unknown; disconnect(): void }
type Inside = Readonly<{ protocol?: Protocol }>

const closed = (): Error => new Error('the connection was closed')

/** The sockets that `make` makes before it returns. */
function socketsOf<T>(make: () => T): Readonly<{ made: readonly Socket[]; result: T }> {
  const made: Socket[] = []
  const hearNoMore = hearSockets((socket) => void made.push(socket))
  try {
    return { result: make(), made }
  } finally {
    hearNoMore()
  }
}

/** Nobody hears of its end: the client would take it for the end of the connection that it has by now. */
function drop(socket: Socket): void {
  socket.removeAllListeners()
  socket.on('error', () => undefined)
  socket.destroy()
}

type Attempt = Readonly<{ sockets: readonly Socket[]; fail(): void }>

/** Hears of the attempt that a transport makes, unless none is to be made any more. */
function watchAttempt(
  transport: Transport,
  isOver: () => boolean,
  { onMade, onFailed }: Readonly<{ onMade: (attempt: Attempt) => void; onFailed: (error: unknown) => void }>,
): void {
  const connect = transport.connect.bind(transport)
  transport.connect = async (...server) => {
    if (isOver()) throw closed()
    const { made: sockets, result } = socketsOf(() => connect(...server))
    const { promise: failed, reject } = Promise.withResolvers<never>()
    onMade({ sockets, fail: () => reject(closed()) })
    try {
      return await Promise.race([result, failed])
    } catch (error) {
      onFailed(error)
      throw error
    }
  }
}

/**
 * Keeps the client to one socket.
 * - The client forgets an attempt to connect that was not answered in time, as by a server that hangs or cannot be reached. Once that server goes on,
 *   the attempt succeeds all the same, and the server soon closes it. The client takes that for the end of the connection that it has by now, makes
 *   another one beside it, and reads the bytes of both into one message. So whatever was tried before is closed before the next attempt.
 * - When nothing comes over a connection any more, the client waits until all that it has written is sent, which the system tries for a quarter of an
 *   hour. So the socket is closed at once.
 *
 * Returns a function that ends the last attempt, to be called when the connection is closed: the client would go on with that attempt, and stay
 * connected if it succeeds. With a client that is made otherwise nothing is done. `onFailed` hears why an attempt failed; the client does not say.
 */
export function keepOneSocket(connection: NatsConnection, onFailed: (error: unknown) => void): () => void {
  const protocol = (connection as unknown as Inside).protocol
  if (protocol?.prepare === undefined) return () => undefined
  let tried: Attempt | undefined
  let isOver = false
  const dropTried = (): void => {
    tried?.sockets.forEach(drop)
    tried?.fail()
  }
  const [prepare, disconnect] = [protocol.prepare.bind(protocol), protocol.disconnect.bind(protocol)]
  protocol.prepare = () => {
    dropTried()
    const prepared = prepare()
    if (protocol.transport !== undefined)
      watchAttempt(protocol.transport, () => isOver, { onMade: (attempt) => (tried = attempt), onFailed })
    return prepared
  }
  protocol.disconnect = () => {
    const socket = protocol.transport?.socket
    disconnect()
    socket?.destroy()
  }
  return () => {
    isOver = true
    dropTried()
  }
}
