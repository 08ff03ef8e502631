import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

type Taking = (socket: Socket) => void

/** Stands before NATS: what connects to it is passed on, as long as a test wants that. */
export type NatsFront = Readonly<{
  at: AddressInfo
  /** The address of NATS, but here, by this name of this machine. */
  urlBy(hostname: string): string
  /** What becomes of the connections that come from now on; each is passed on unless it says otherwise. */
  take(how: Taking): void
  /** Leads a connection to NATS, or to the server at another port. */
  passOn(socket: Socket, port?: number): void
  /** Those that have come since all were lost. */
  taken(): readonly Socket[]
  /** Breaks all connections. */
  lose(): void
  /** Resolves when one more has come. */
  come(): Promise<void>
  close(): void
}>

export async function startFront(nats: URL): Promise<NatsFront> {
  const taken: Socket[] = []
  const passOn = (socket: Socket, port = Number(nats.port)): void => {
    const server = connect(port, nats.hostname).on('error', () => undefined)
    socket.pipe(server).pipe(socket)
    socket.once('close', () => server.destroy())
  }
  let how: Taking = passOn
  const server = createServer((socket) => {
    taken.push(socket.on('error', () => undefined))
    how(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const at = server.address() as AddressInfo
  const lose = (): void => {
    for (const socket of taken.splice(0)) socket.destroy()
  }
  return {
    at,
    urlBy: (hostname) => Object.assign(new URL(nats), { hostname, port: String(at.port) }).href,
    take: (other) => void (how = other),
    passOn,
    taken: () => taken,
    lose,
    come: async () => void (await once(server, 'connection')),
    close: () => {
      lose()
      server.close()
    },
  }
}
