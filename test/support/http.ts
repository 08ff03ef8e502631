import { once } from 'node:events'
import { connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { limits as allLimits, type Limits } from '#src/config.ts'
import { createHttpApp, type HttpAppOptions, type RequestFailure } from '#src/http/app.ts'
import { createHttpServer } from '#src/http/server.ts'

export type TestServer = Readonly<{
  baseUrl: string
  port: number
  /** What the application reported as failures of its own. */
  failures: readonly RequestFailure[]
  close(): Promise<void>
}>

/** Listens on a port that the system chose, and returns it. */
export async function listenAnywhere(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** The real application on a real socket of this process, on a port that the system chose. */
export async function listen(
  options: Pick<HttpAppOptions, 'routes' | 'session' | 'observe'> &
    Readonly<{ limits?: Limits; trustedProxies?: number }>,
): Promise<TestServer> {
  const failures: RequestFailure[] = []
  const { limits = allLimits, trustedProxies = 0, ...rest } = options
  const app = createHttpApp({ ...rest, random: () => 0.5, trustedProxies, report: (failure) => failures.push(failure) })
  const { server, stop } = createHttpServer(app.callback(), { limits })
  const port = await listenAnywhere(server)
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    port,
    failures,
    close: async () => {
      const stopped = stop()
      server.closeAllConnections()
      await stopped
    },
  }
}

type RawConnection = Readonly<{
  socket: Socket
  read(): void
  write(data: string | Uint8Array): void
  /** What has come once `enough` says so, or once the other side has ended. */
  until(enough: (text: string) => boolean): Promise<string>
  ended(): Promise<string>
}>

type RawOptions = Readonly<{ isReading?: boolean; ca?: string | undefined }>

/** A connection on which a test writes what it likes; it reads from the start, or from `read` on. With `ca` it is one over TLS. */
export async function rawConnection(port: number, { isReading = true, ca }: RawOptions = {}): Promise<RawConnection> {
  const to = { port, host: '127.0.0.1', allowHalfOpen: true }
  const socket = ca === undefined ? connect(to) : connectTls({ ...to, ca })
  let text = ''
  let isOver = false
  const wakers = new Set<() => void>()
  const wake = (): void => {
    for (const each of wakers) each()
  }
  const read = (): void => {
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1')
      wake()
    })
  }
  if (isReading) read()
  const over = (): void => {
    isOver = true
    wake()
  }
  socket.on('end', over).on('close', over).on('error', over)
  await once(socket, ca === undefined ? 'connect' : 'secureConnect')
  const until = (enough: (text: string) => boolean): Promise<string> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!isOver && !enough(text)) return
        wakers.delete(check)
        resolve(text)
      }
      wakers.add(check)
      check()
    })
  return { socket, read, write: (data) => socket.write(data), until, ended: () => until(() => false) }
}

/** The status line's number in a raw answer. */
export const rawStatus = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1])
