import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { context, propagation, SpanKind, SpanStatusCode, trace, type Context } from '@opentelemetry/api'
import { sessionKey, startTelemetry, type Telemetry } from './telemetry.ts'

export type Reply = Readonly<{ status: number; body: unknown; type?: string }>
export type Handler = (body: unknown) => Promise<Reply>
/** By `METHOD /path`. */
type Routes = ReadonlyMap<string, Handler>
/** Another service's answer. */
type Called = Readonly<{ status: number; body: unknown }>
type Call = (peer: string, route: string, body?: unknown) => Promise<Called>

/** What the parent tells a service, and what it answers: the services are processes of their own and find each other by it. */
export type ParentMessage = Readonly<{ peers: Readonly<Record<string, string>> }> | 'stop'

const bodyBytesMax = 64 * 1024
const callTimeoutMs = 10_000

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) throw new RangeError(`more than ${bodyBytesMax} bytes`)
    chunks.push(chunk)
  }
  return bytes === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

/** The caller's trace, and the shopper's visit where the caller is a shopper and not a service. */
function contextOf({ headers }: IncomingMessage): Context {
  const extracted = propagation.extract(context.active(), headers)
  const session = headers['x-session-id']
  if (typeof session !== 'string' || propagation.getBaggage(extracted) !== undefined) return extracted
  return propagation.setBaggage(extracted, propagation.createBaggage({ [sessionKey]: { value: session } }))
}

function send(response: ServerResponse, { status, body, type = 'application/json' }: Reply): void {
  const traceId = trace.getActiveSpan()?.spanContext().traceId
  response.writeHead(status, { 'Content-Type': type, ...(traceId === undefined ? {} : { 'X-Trace-Id': traceId }) })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

async function answer({ inSpan, log }: Telemetry, routes: Routes, request: IncomingMessage, response: ServerResponse) {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
  const route = `${request.method} ${path}`
  const handler = routes.get(route)
  if (handler === undefined) return send(response, { status: 404, body: { error: `nothing at ${route}` } })
  const attributes = { 'http.request.method': request.method ?? '', 'http.route': path, 'url.path': path }
  await context.with(contextOf(request), () =>
    inSpan(route, { kind: SpanKind.SERVER, attributes }, async (span) => {
      try {
        const reply = await handler(await readJson(request))
        span.setAttribute('http.response.status_code', reply.status)
        if (reply.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
        send(response, reply)
      } catch (error) {
        log.error({ err: error, route }, 'request failed')
        span.setAttribute('http.response.status_code', 500)
        send(response, { status: 500, body: { error: 'something went wrong here' } })
        throw error
      }
    }),
  )
}

function createCall({ inSpan }: Telemetry, peers: ReadonlyMap<string, string>): Call {
  return (peer, route, body) => {
    const [method = 'GET', path = '/'] = route.split(' ')
    const url = `${peers.get(peer) ?? ''}${path}`
    const attributes = { 'http.request.method': method, 'url.full': url, 'peer.service': peer }
    return inSpan(`${method} ${peer}${path}`, { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const headers: Record<string, string> = { 'content-type': 'application/json' }
      propagation.inject(context.active(), headers)
      const signal = AbortSignal.timeout(callTimeoutMs)
      const response = await fetch(url, { method, headers, body: JSON.stringify(body) ?? null, signal })
      span.setAttribute('http.response.status_code', response.status)
      if (response.status >= 400) span.setStatus({ code: SpanStatusCode.ERROR })
      return { status: response.status, body: await response.json() }
    })
  }
}

async function stop(server: Server, telemetry: Telemetry): Promise<void> {
  server.close()
  server.closeAllConnections()
  const made = await telemetry.stop()
  process.send?.({ made })
  process.disconnect()
}

/**
 * Runs a service of the shop: an HTTP server whose requests and calls are spans, in the trace of whoever calls (W3C Trace
 * Context). The parent process is told the port, names the peers, and ends it.
 */
export async function runService(
  name: string,
  createRoutes: (tools: Telemetry & Readonly<{ call: Call }>) => Routes | Promise<Routes>,
): Promise<void> {
  const env = process.env
  const telemetry = startTelemetry(name, { logsUrl: env['LOGS_URL'] ?? '', logsToken: env['LOGS_TOKEN'] ?? '' })
  const peers = new Map<string, string>()
  const routes = await createRoutes({ ...telemetry, call: createCall(telemetry, peers) })
  const server = createServer((request, response) => {
    // What a handler throws is answered, logged and on its span by now.
    answer(telemetry, routes, request, response).catch(() => response.end())
  })
  // A signal may reach the whole group; the parent stops the services in its own time.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
  process.on('message', (message: ParentMessage) => {
    if (message === 'stop') void stop(server, telemetry)
    else for (const [peer, url] of Object.entries(message.peers)) peers.set(peer, url)
  })
  process.on('disconnect', () => process.exit())
  server.listen(Number(env['SHOP_PORT'] ?? 0), '127.0.0.1', () => {
    process.send?.({ port: (server.address() as AddressInfo).port })
  })
}
