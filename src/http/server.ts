import http, { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import https from 'node:https'
import { Server as NetServer, type Socket } from 'node:net'
import type { Limits } from '#src/config.ts'
import { systemTicks, type Ticks } from '#src/lib/clock.ts'
import { boundConnections, type BoundConnections } from './bound-connections.ts'
import { watchHeld } from './held.ts'
import { pathOf, refuseConnect, refuseMalformed, refuseUnparsed } from './malformed.ts'
import { breakOff } from './sending.ts'

export type HttpServer = Readonly<{
  server: Server
  /**
   * Takes no more connections, and ends each with its next answer (`Connection: close`). Idle ones stay until their senders use
   * them once more or their time is over: none is closed under a request on its way. Resolves when all are gone.
   */
  retire(): Promise<void>
  /** As `retire`, but connections without a request under way are closed after a moment, in which one on its way is answered. */
  stop(): Promise<void>
  /** Closes all connections at once. Clients of answers under way see that these are not whole. */
  breakOff(): void
  /** How many are open; over TLS, only those that have finished the handshake. */
  connections(): number
}>

type HttpServerOptions = Readonly<{
  limits: Pick<Limits, 'keepAliveTimeoutMs' | 'headerBytesMax' | 'headersTimeoutMs' | 'bodyTimeoutMs'>
  /** Certificate chain and key, PEM. */
  tls?: Readonly<{ cert: string | Buffer; key: string | Buffer }>
  /** Above it, idle connections are closed; at twice as many, new ones are refused. Both are told of. */
  connectionsMax?: number
  onClosed?: (count: number) => void
  onRefused?: () => void
  ticks?: Ticks
}>

const checkIntervalMs = 1_000
/** How long idle connections stay after a stop: a request sent before its sender could know arrives within this. */
const lastRequestsMs = 200

/** Hears of the sockets that carry HTTP: over TLS, the one inside the connection's own. */
const onSocket = (server: Server, hear: (socket: Socket) => void): unknown =>
  server.on(server instanceof https.Server ? 'secureConnection' : 'connection', hear)

/**
 * Answers clients that close their sending side after a whole request (RFC 9112 §9.6). A request that sends something (POST) is stored and answered;
 * then the connection ends. A client that only asks may just as well have hung up, which looks the same, so its searches and exports stop.
 */
function answerHalfClosed(server: Server, underWay: ReadonlySet<ServerResponse>): void {
  // Node's own switch. Without it, Node closes a connection as soon as its client stops sending, whatever is under way.
  Object.assign(server, { httpAllowHalfOpen: true })
  onSocket(server, (socket) => {
    // Over TLS this is set only now: a client that ends within the handshake is gone.
    socket.allowHalfOpen = true
    socket.on('end', () => {
      for (const { req } of underWay) if (req.socket === socket && req.method !== 'POST') socket.end()
    })
  })
}

function bound(server: Server, options: HttpServerOptions): BoundConnections {
  const { connectionsMax: max = Infinity, onClosed = () => undefined, onRefused, ticks = systemTicks } = options
  const connections = boundConnections({ max, onClosed, ticks })
  onSocket(server, connections.opened)
  // Connections may be many at once, and none of them idle yet. The rest of the files is for everything else, such as an index.
  server.maxConnections = 2 * max
  server.on('drop', () => onRefused?.())
  server.on('close', connections.end)
  return connections
}

const timeoutsOf = (limits: HttpServerOptions['limits']): http.ServerOptions => ({
  keepAliveTimeout: limits.keepAliveTimeoutMs,
  headersTimeout: limits.headersTimeoutMs,
  // Backstop only: useBody answers a slow body first.
  requestTimeout: limits.headersTimeoutMs + limits.bodyTimeoutMs + 5_000,
  connectionsCheckingInterval: checkIntervalMs,
  maxHeaderSize: limits.headerBytesMax,
  // Node would refuse without a body; it is checked here with everything else.
  requireHostHeader: false,
  noDelay: true,
})

/**
 * A Node server with our timeouts. Idle connections outlive those of every known sender (75 s), so that none writes into one
 * just closed; slow headers and bodies end with 408. `Expect: 100-continue` is answered when the body is read, not before.
 */
export function createHttpServer(
  callback: (request: IncomingMessage, response: ServerResponse) => unknown,
  options: HttpServerOptions,
): HttpServer {
  const { limits, tls } = options
  const timeouts = timeoutsOf(limits)
  // From when it retires, resolved when its last connection is gone.
  let gone: Promise<void> | undefined
  let isStopping = false
  const underWay = new Set<ServerResponse>()
  // A rejection that nobody awaits would end the process.
  const answer = async (...given: Parameters<typeof callback>): Promise<unknown> => callback(...given)
  const listener: RequestListener = (request, response) => {
    const { socket } = request
    underWay.add(response)
    connections.asked(socket)
    response.once('close', () => {
      underWay.delete(response)
      connections.answered(socket)
      if (isStopping) server.closeIdleConnections()
    })
    if (gone !== undefined) response.setHeader('Connection', 'close')
    const path = pathOf(request)
    if (!path.ok) return refuseMalformed(response, path.error)
    request.url = path.value
    answer(request, response).catch((error: unknown) => {
      console.error('a request could not be answered:', error)
      request.socket.destroy()
    })
  }
  // Clients that can speak HTTP/1.1 get it; those that speak only HTTP/2 get far enough to be told what is supported.
  const secure = { ...timeouts, ...tls, ALPNProtocols: ['http/1.1', 'h2'], handshakeTimeout: limits.headersTimeoutMs }
  const server = tls === undefined ? http.createServer(timeouts, listener) : https.createServer(secure, listener)
  answerHalfClosed(server, underWay)
  const connections = bound(server, options)
  server.on('checkContinue', listener)
  server.on('checkExpectation', listener)
  server.on('connect', (_request, socket: Socket) => refuseConnect(socket))
  const { isHeld, end } = watchHeld()
  server.on('close', end)
  server.on('clientError', (error, socket: Socket) => refuseUnparsed(error, socket, { ...limits, isHeld }))

  const close = (): Promise<void> =>
    new Promise((resolve, reject) => {
      for (const response of underWay) if (!response.headersSent) response.setHeader('Connection', 'close')
      // The close of an HTTP server would close idle connections and stop its time-outs; this one only stops accepting.
      NetServer.prototype.close.call(server, (error) => {
        server.close()
        if (error === undefined) resolve()
        else reject(error)
      })
    })
  const retire = (): Promise<void> => (gone ??= close())
  return {
    server,
    retire,
    stop: () => {
      const closeIdle = (): void => {
        isStopping = true
        server.closeIdleConnections()
        // Deferred, so that what has come meanwhile is read first.
        setImmediate(connections.closeSilent)
      }
      const waiting = setTimeout(closeIdle, lastRequestsMs)
      return retire().finally(() => clearTimeout(waiting))
    },
    breakOff: () => {
      for (const response of underWay) breakOff(response)
      server.closeAllConnections()
    },
    connections: connections.count,
  }
}
