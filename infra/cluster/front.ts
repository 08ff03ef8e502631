import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http'

/** `host:port` of those who take telemetry in, and of those who answer everything else. */
type Targets = Readonly<{ ingest: () => readonly string[]; query: () => readonly string[] }>

const ingestPath = /^\/api\/(?:rum|logs|traces)\/v1\//
/** Of one connection, not of the message (RFC 9110 §7.6.1). */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Longer than the servers keep an idle connection, so that they are the ones to end it. */
const keepAliveTimeoutMs = 95_000
/** More than the servers take, so that they are the ones to refuse. */
const headerBytesMax = 128 * 1024
/** How long the rest of a body is read and dropped after the answer to it has come. */
const restTimeoutMs = 1_000

/** The raw pairs of a message's headers, without those of its connection. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    if (!hopByHop.has(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}

function headersFor(request: IncomingMessage): string[] {
  const headers: string[] = []
  const kept = endToEnd(request.rawHeaders)
  for (let index = 0; index < kept.length; index += 2) {
    const [name = '', value = ''] = kept.slice(index, index + 2)
    if (name.toLowerCase() !== 'x-forwarded-for') headers.push(name, value)
  }
  const before = request.headers['x-forwarded-for']
  const sender = request.socket.remoteAddress ?? ''
  headers.push('X-Forwarded-For', before === undefined ? sender : `${String(before)}, ${sender}`)
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked')
  return headers
}

function refuse(response: ServerResponse): void {
  const detail = 'No server of this kind can be reached just now; send it again.'
  const body = JSON.stringify({ type: 'about:blank', title: 'Unavailable', status: 503, detail, code: 'unavailable' })
  response.writeHead(503, { 'Content-Type': 'application/problem+json', 'Retry-After': '1', Connection: 'close' })
  response.end(body)
}

/**
 * Ends an answer when the request has ended too, or soon after: a connection that is closed while its sender still writes is
 * reset, and many senders then lose the answer.
 */
function endAfter(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return void response.end()
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, restTimeoutMs)
  request.once('end', end).once('close', end)
}

/** Passes the answer on as it comes; one that breaks off is broken off here too, so that nobody takes it for whole. */
function passAnswer(request: IncomingMessage, response: ServerResponse, answer: IncomingMessage): void {
  const isLast = answer.headers.connection === 'close' && !request.complete
  const headers = [...endToEnd(answer.rawHeaders), ...(isLast ? ['Connection', 'close'] : [])]
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers)
  response.flushHeaders()
  answer.pipe(response, { end: false })
  answer.once('end', () => endAfter(request, response))
  answer.once('close', () => {
    if (!answer.complete) response.destroy()
  })
}

/** A list from a place that moves on with each call. */
function createRound(targets: () => readonly string[]): () => readonly string[] {
  let turn = 0
  return () => {
    const all = targets()
    const first = turn++ % Math.max(1, all.length)
    return [...all.slice(first), ...all.slice(0, first)]
  }
}

/** Sends the request to the first of the targets that takes the connection. */
function forward(
  agent: http.Agent,
  request: IncomingMessage,
  response: ServerResponse,
  [target, ...others]: readonly string[],
): void {
  if (target === undefined) return refuse(response)
  const [host = '', port = ''] = target.split(/:(?=\d+$)/)
  const { method = 'GET', url: path = '/' } = request
  const outgoing = http.request({ agent, host, port, method, path, headers: headersFor(request) })
  const hangUp = (): void => {
    if (!response.writableFinished) outgoing.destroy()
  }
  response.once('close', hangUp)
  outgoing.once('response', (answer) => passAnswer(request, response, answer))
  outgoing.once('continue', () => response.writeContinue())
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    response.off('close', hangUp)
    request.unpipe(outgoing)
    if (response.destroyed) return
    // The answer may have come before the whole body was read.
    if (response.headersSent) request.resume()
    else if (error.code === 'ECONNREFUSED') forward(agent, request, response, others)
    else refuse(response)
  })
  // Read only once there is a connection: what has been read could not be given to the next target.
  outgoing.once('socket', (socket) => {
    const send = (): void => {
      // Otherwise the headers would wait for the body, and with them an answer that needs none.
      if (!request.complete && request.readableLength === 0) outgoing.flushHeaders()
      request.pipe(outgoing)
    }
    if (socket.connecting) socket.once('connect', send)
    else send()
  })
}

/**
 * One address before the processes of a cluster: by path to those who ingest or those who answer, in turn, both ways as it comes.
 * A target that refuses the connection has been sent nothing, so the next is asked; what was sent is not sent again. For trying and
 * for tests: it knows neither TLS nor health.
 */
export function createFront(targets: Targets): Server {
  const agent = new http.Agent({ keepAlive: true })
  const ingest = createRound(targets.ingest)
  const query = createRound(targets.query)
  const listener = (request: IncomingMessage, response: ServerResponse): void =>
    forward(agent, request, response, ingestPath.test(request.url ?? '') ? ingest() : query())
  const server = http.createServer(
    // Slow senders are the servers' to refuse.
    { keepAliveTimeout: keepAliveTimeoutMs, maxHeaderSize: headerBytesMax, requestTimeout: 0, noDelay: true },
    listener,
  )
  server.on('checkContinue', listener)
  server.on('checkExpectation', listener)
  server.once('close', () => agent.destroy())
  return server
}
