import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** Hears of each socket to a server that this thread makes, until what it returns is called. */
export function hearSockets(hear: (socket: Socket) => void): () => void {
  const channel = 'net.client.socket'
  const note = (message: unknown): void => hear((message as Readonly<{ socket: Socket }>).socket)
  subscribe(channel, note)
  return () => void unsubscribe(channel, note)
}

/** What is made by the call under way, and by no other at the same time. */
const madeBy = new AsyncLocalStorage<Set<Socket>>()

/**
 * Runs `connecting`, which may make several attempts in turn, and closes the sockets of those that failed. The client forgets the socket of a
 * server that accepts a connection and then says nothing, as one that hangs does. Such a socket would keep a command from ending for as long.
 */
export async function closingWhatFails<T>(connecting: () => Promise<T>): Promise<T> {
  const made = new Set<Socket>()
  const hearNoMore = hearSockets((socket) => {
    if (madeBy.getStore() === made) made.add(socket)
  })
  try {
    const connected = await madeBy.run(made, connecting)
    for (const socket of [...made].slice(0, -1)) socket.destroy()
    return connected
  } catch (error) {
    for (const socket of made) socket.destroy()
    throw error
  } finally {
    hearNoMore()
  }
}
