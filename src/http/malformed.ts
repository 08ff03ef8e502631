import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from '#src/config.ts'
import { randomId } from '#src/lib/random-id.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { behindPreface, refuseHttp2 } from './refuse-http2.ts'

/** What is refused before it is anybody's request: with a problem document, like everything else. */
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

/** It has the members of any other problem; its id is in no log, since nothing is logged of these. */
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

/**
 * Who speaks plain HTTP where TLS is spoken, in words that it understands. They go by the socket below that of TLS, which Node tells nobody of;
 * without it the connection is closed.
 */
function refusePlain(socket: Socket & Readonly<{ _parent?: Socket | null }>): void {
  const { _parent: below } = socket
  if (below?.writable !== true) return void socket.destroy()
  below.on('error', () => undefined)
  // Closed with what it has sent unread, the connection would be reset and the answer lost.
  below.setTimeout(closingMs, () => below.destroy())
  answerBare(below, notTls)
}

/** What never became a request. */
export function refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket, bounds: Bounds): void {
  const http2 = behindPreface(error)
  if (error.code === 'ERR_SSL_HTTP_REQUEST') return refusePlain(socket)
  // Whoever has not come to the end of TLS's handshake can be told nothing, and Node leaves the connection to us.
  if (error.code === 'ECONNRESET' || error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT' || !socket.writable) socket.destroy()
  else if (http2 !== undefined) refuseHttp2(socket, http2)
  else {
    const refused = unparsedOf(error, bounds)
    answerBare(socket, refused, refused === notRead ? 'Retry-After: 1\r\n' : '')
  }
}

/** `CONNECT`, for which Node closes the connection where nobody answers. */
export function refuseConnect(socket: Socket): void {
  socket.on('error', () => undefined)
  answerBare(socket, noTunnel, 'Allow: GET, HEAD, POST\r\n')
  // Node's server does not count it among its own any more: whoever leaves it half open would keep the server from its end.
  socket.destroySoon()
}

/** A request's target as a path (RFC 9112 §3.2): an absolute one names it too. Undefined: neither is there, and Koa would throw. */
function pathIn(target: string): string | undefined {
  if (target === '*' || (target.startsWith('/') && !/[#\s]/.test(target))) return target
  // With a fragment or a blank in it Koa has even a path parsed as an address, which throws for `//a@[/#`.
  const url = URL.parse(target.startsWith('/') ? `http://localhost${target}` : target)
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.pathname + url.search : undefined
}

/** Proxies in front may go by another one of several than we do (RFC 9112 §3.2). Node keeps the first. */
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
