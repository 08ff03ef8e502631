import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

const channel = 'net.client.socket'

/**
 * What `connecting` resolves with. Where it rejects, the sockets to these ports that were made meanwhile are closed: the client forgets that of a
 * server which takes a connection and says nothing, as one that hangs, and it would keep a command from its end for as long as the server hangs.
 */
export async function closingWhatFails<T>(ports: readonly number[], connecting: () => Promise<T>): Promise<T> {
  const made = new Set<Socket>()
  const note = (message: unknown): void => void made.add((message as Readonly<{ socket: Socket }>).socket)
  subscribe(channel, note)
  try {
    return await connecting()
  } catch (error) {
    for (const socket of made) if (ports.includes(socket.remotePort ?? 0)) socket.destroy()
    throw error
  } finally {
    unsubscribe(channel, note)
  }
}
