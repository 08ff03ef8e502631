import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from '#src/config.ts'
import { randomId } from '#src/lib/random-id.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { behindPreface, refuseHttp2 } from './refuse-http2.ts'

/** A request that is refused before it reaches any route: with a problem document, like all others. */
type Malformed = Readonly<{ status: number; detail: string }>

const tooSlow: Malformed = { status: 408, detail: 'The request did not come to its end in time.' }
const notRead: Malformed = { status: 503, detail: 'The request was not read in time; send it again.' }
const notHttp: Malformed = { status: 400, detail: 'This is not a request that can be understood.' }
const noTarget: Malformed = { status: 400, detail: 'What the request asks for is neither a path nor an address.' }
const notOneHost: Malformed = { status: 400, detail: 'A request has one Host header.' }
const notExpected: Malformed = { status: 417, detail: 'Nothing can be expected here but 100-continue.' }
const notTls: Malformed = { status: 400, detail: 'This port speaks TLS: the address begins with https://.' }
const noTunnel: Malformed = { status: 405, detail: 'This server opens no connections to others.' }

type Bounds = Pick<Limits, 'headerBytesMax'> &
  Readonly<{
    /** See held.ts. */
    isHeld: () => boolean
  }>

/** Why a request could not be read, by the code of Node's failure. */
function unparsedOf({ code }: NodeJS.ErrnoException, { headerBytesMax, isHeld }: Bounds): Malformed {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const detail = `The address and the headers of a request have at most ${headerBytesMax} bytes together.`
    return { status: 431, detail }
  }
  if (code !== 'ERR_HTTP_REQUEST_TIMEOUT') return notHttp
  return isHeld() ? notRead : tooSlow
}

/** Like any other problem document. Its id is in no log, because these refusals are not logged. */
function problemText({ status, detail }: Malformed): string {
  const members = { type: 'about:blank', title: STATUS_CODES[status], status, detail }
  const code = status === 503 ? 'unavailable' : 'invalid_request'
  return JSON.stringify({ ...members, code, request_id: randomId() })
}

/** On a socket on which nobody else answers. */
function answerBare(socket: Socket, refused: Malformed, headers = ''): void {
  const body = problemText(refused)
  const status = `HTTP/1.1 ${refused.status} ${STATUS_CODES[refused.status] ?? ''}`
  const head = `${status}\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}`
  socket.end(`${head}\r\n${headers}Connection: close\r\n\r\n${body}`)
}

/** How long a client that was refused may take to close the connection. */
const closingMs = 5_000

/** Answers plain HTTP on a TLS port, through the socket below TLS. Node does not document that one; without it, the connection is closed. */
function refusePlain(socket: Socket & Readonly<{ _parent?: Socket | null }>): void {
  const { _parent: below } = socket
  if (below?.writable !== true) return void socket.destroy()
  below.on('error', () => undefined)
  // If the connection were closed with unread bytes, it would be reset and the answer lost.
  below.setTimeout(closingMs, () => below.destroy())
  answerBare(below, notTls)
}

/** Refuses bytes that never became a request. */
export function refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket, bounds: Bounds): void {
  const http2 = behindPreface(error)
  if (error.code === 'ERR_SSL_HTTP_REQUEST') return refusePlain(socket)
  // Before the TLS handshake is done nothing can be said, and Node leaves the connection to us.
  if (error.code === 'ECONNRESET' || error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT' || !socket.writable) socket.destroy()
  else if (http2 !== undefined) refuseHttp2(socket, http2)
  else {
    const refused = unparsedOf(error, bounds)
    answerBare(socket, refused, refused === notRead ? 'Retry-After: 1\r\n' : '')
  }
}

/** Refuses `CONNECT`: without a listener, Node closes the connection without an answer. */
export function refuseConnect(socket: Socket): void {
  socket.on('error', () => undefined)
  answerBare(socket, noTunnel, 'Allow: GET, HEAD, POST\r\n')
  // Node's server no longer counts this socket: if its client left it half open, the server could never close.
  socket.destroySoon()
}

/** The path of a request's target (RFC 9112 §3.2), which may also be an absolute address. Undefined if it is neither: Koa would throw. */
function pathIn(target: string): string | undefined {
  if (target === '*' || (target.startsWith('/') && !/[#\s]/.test(target))) return target
  // Given a fragment or a blank, Koa parses even a path as an address, which throws for `//a@[/#`.
  const url = URL.parse(target.startsWith('/') ? `http://localhost${target}` : target)
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.pathname + url.search : undefined
}

/** With several Host headers, a proxy in front may use another one than we do (RFC 9112 §3.2): Node keeps the first. */
function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

/** The path that a request asks for, or what is wrong with it whatever it asks for (RFC 9110 §10.1.1, RFC 9112 §3.2). */
export function pathOf(request: IncomingMessage): Result<string, Malformed> {
  if (!hasOneHost(request)) return fail(notOneHost)
  const { expect } = request.headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') return fail(notExpected)
  const path = pathIn(request.url ?? '')
  return path === undefined ? fail(noTarget) : ok(path)
}

export function refuseMalformed(response: ServerResponse, refused: Malformed): void {
  const text = problemText(refused)
  response.writeHead(refused.status, {
    'Content-Type': 'application/problem+json',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
  })
  response.end(text)
}
