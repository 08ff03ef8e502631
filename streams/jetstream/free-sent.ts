import type { Writable } from 'node:stream'
import type { NatsConnection } from 'nats'
import { freeBytes } from '#src/lib/free-bytes.ts'

/** What the client keeps to itself. */
type Transport = { send(frame: Uint8Array): void; readonly socket?: Writable }
type Inside = Readonly<{ protocol?: Readonly<{ transport?: Transport }> }>

/**
 * Frees each frame as soon as it is sent. The client copies what it sends into a frame of its own and forgets it, which leaves the size of a
 * body to the garbage collector for each append. Call it again after a reconnect, which makes a new transport. With a client that is made
 * otherwise it does nothing.
 */
export function freeSentFrames(connection: NatsConnection): void {
  const transport = (connection as unknown as Inside).protocol?.transport
  if (transport?.socket === undefined) return
  transport.send = (frame) => {
    // The client sees a failure where it reads. After one, the socket may still hold the frame.
    transport.socket?.write(frame, (failure) => {
      if (failure === null || failure === undefined) freeBytes(frame)
    })
  }
}
