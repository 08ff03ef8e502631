import http, {
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import https from 'node:https'
import { Server as NetServer, type Socket } from 'node:net'
import type { Limits } from '#src/config.ts'

export type HttpServer = Readonly<{
  server: Server
  /**
   * Takes no more connections, and ends each with its next answer (`Connection: close`). Idle ones stay until their senders use
   * them once more or their time is over: none is closed under a request on its way. Resolves when all are gone.
   */
  retire(): Promise<void>
  /** As `retire`, but connections without a request under way are closed after a moment, in which one on its way is answered. */
  stop(): Promise<void>
}>

export type HttpServerOptions = Readonly<{
  limits: Pick<Limits, 'keepAliveTimeoutMs' | 'headerBytesMax' | 'headersTimeoutMs' | 'bodyTimeoutMs'>
  /** Certificate chain and key, PEM. */
  tls?: Readonly<{ cert: string | Buffer; key: string | Buffer }>
}>

const checkIntervalMs = 1_000
/** A request that is on its way while its sender learns nothing yet arrives within this. */
const lastRequestsMs = 200
type Unparsed = Readonly<{ status: number; detail: string }>
const tooSlow: Unparsed = { status: 408, detail: 'The request did not come to its end in time.' }
const notHttp: Unparsed = { status: 400, detail: 'This is not a request that can be understood.' }

/** Why a request could not be read, by the code of Node's failure. */
function unparsedOf({ code }: NodeJS.ErrnoException, { headerBytesMax }: HttpServerOptions['limits']): Unparsed {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const detail = `The address and the headers of a request have at most ${headerBytesMax} bytes together.`
    return { status: 431, detail }
  }
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? tooSlow : notHttp
}

const noTarget: Unparsed = { status: 400, detail: 'What the request asks for is neither a path nor an address.' }

function problemText({ status, detail }: Unparsed): string {
  return JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, detail, code: 'invalid_request' })
}

/** What never became a request: answered like everything else, with a problem document. */
function refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket, limits: HttpServerOptions['limits']): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const refused = unparsedOf(error, limits)
  const body = problemText(refused)
  const head = `HTTP/1.1 ${refused.status} ${STATUS_CODES[refused.status] ?? ''}\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}`
  socket.end(`${head}\r\nConnection: close\r\n\r\n${body}`)
}

/** A request's target as a path (RFC 9112 §3.2): an absolute one names it too. Undefined: neither is there, and Koa would throw. */
function pathIn(target: string): string | undefined {
  if (target === '*' || (target.startsWith('/') && !/[#\s]/.test(target))) return target
  // With a fragment or a blank in it Koa has even a path parsed as an address, which throws for `//a@[/#`.
  const url = URL.parse(target.startsWith('/') ? `http://localhost${target}` : target)
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.pathname + url.search : undefined
}

function refuseTarget(response: ServerResponse): void {
  response.writeHead(noTarget.status, { 'Content-Type': 'application/problem+json', Connection: 'close' })
  response.end(problemText(noTarget))
}

/**
 * A Node server with our timeouts. Idle connections outlive those of every known sender (75 s), so that none writes into one
 * just closed; slow headers and bodies end with 408. `Expect: 100-continue` is answered when the body is read, not before.
 */
export function createHttpServer(
  callback: (request: IncomingMessage, response: ServerResponse) => unknown,
  { limits, tls }: HttpServerOptions,
): HttpServer {
  const options: http.ServerOptions = {
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    // Backstop only: readBody answers a slow body first.
    requestTimeout: limits.headersTimeoutMs + limits.bodyTimeoutMs + 5_000,
    connectionsCheckingInterval: checkIntervalMs,
    maxHeaderSize: limits.headerBytesMax,
    noDelay: true,
  }
  // From when it retires, resolved when its last connection is gone.
  let gone: Promise<void> | undefined
  let isStopping = false
  const underWay = new Set<ServerResponse>()
  // What nobody awaits would end the process where it rejects.
  const answer = async (...given: Parameters<typeof callback>): Promise<unknown> => callback(...given)
  const listener: RequestListener = (request, response) => {
    underWay.add(response)
    response.once('close', () => {
      underWay.delete(response)
      if (isStopping) server.closeIdleConnections()
    })
    if (gone !== undefined) response.setHeader('Connection', 'close')
    const path = pathIn(request.url ?? '')
    if (path === undefined) return refuseTarget(response)
    request.url = path
    answer(request, response).catch((error: unknown) => {
      console.error('a request could not be answered:', error)
      request.socket.destroy()
    })
  }
  const server =
    tls === undefined ? http.createServer(options, listener) : https.createServer({ ...options, ...tls }, listener)
  server.on('checkContinue', listener)
  server.on('clientError', (error, socket: Socket) => refuseUnparsed(error, socket, limits))

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
      }
      const waiting = setTimeout(closeIdle, lastRequestsMs)
      return retire().finally(() => clearTimeout(waiting))
    },
  }
}
