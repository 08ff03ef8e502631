import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/**
 * What befalls the first attempt of every request: `refuse`: 503 with `Retry-After: 1` before the server has seen it; `lose`: the
 * server takes it and its sender is told 503; `reset`: the server takes it and the connection breaks without an answer.
 */
export type Fault = 'refuse' | 'lose' | 'reset'

type FlakyProxy = Readonly<{
  baseUrl: string
  /** The bodies that were told what the server answered, as they came. */
  passed: readonly Buffer[]
  /** The distinct requests that the server has accepted, whatever their senders were told. */
  taken(): readonly Buffer[]
  /** Requests whose first attempt went wrong. */
  faults(): number
  /** Resolves once what has passed is enough. */
  until(enough: (passed: readonly Buffer[]) => boolean): Promise<void>
  /** Breaks every connection; resolves when the server has answered what was on its way to it. */
  close(): Promise<void>
}>

/** Stands before the server as a failing network would: a request's second attempt gets through. Preflights always do. */
export async function createFlakyProxy(target: string, fault: Fault): Promise<FlakyProxy> {
  const seen = new Set<string>()
  const taken = new Map<string, Buffer>()
  const passed: Buffer[] = []
  const underWay = new Set<Promise<void>>()
  const progress = new EventEmitter()

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    const key = String(request.headers['idempotency-key'] ?? '')
    const identity = createHash('sha256').update(`${request.url}\n${key}\n`).update(body).digest('hex')
    const fails = request.method === 'POST' && !seen.has(identity)
    if (fails) seen.add(identity)
    if (fails && fault === 'refuse') return refuse(request, response)
    const { status, headers, text } = await pass(target, request, body)
    if (request.method === 'POST' && status < 300) taken.set(identity, body)
    if (fails && fault === 'reset') return void request.socket.destroy()
    if (fails) return refuse(request, response)
    response.writeHead(status, headers).end(text)
    if (request.method !== 'POST') return
    passed.push(body)
    progress.emit('passed')
  }

  // It closes no connection that is idle: the server keeps them for longer than senders do.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const handled = handle(request, response).catch(() => void response.destroy())
    underWay.add(handled)
    void handled.finally(() => underWay.delete(handled))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    taken: () => [...taken.values()],
    faults: () => seen.size,
    until: async (enough) => {
      while (!enough(passed)) await once(progress, 'passed')
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      await Promise.all(underWay)
    },
  }
}

function refuse({ headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers
  const cors = { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': 'Retry-After' }
  response.writeHead(503, { 'Retry-After': '1', ...(origin === undefined ? {} : cors) }).end()
}

/** What belongs to one connection only (RFC 9110 §7.6.1), and what fetch sets itself. */
const ofConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host', 'expect'])

async function pass(
  target: string,
  { method = '', url, headers }: IncomingMessage,
  body: Buffer,
): Promise<Readonly<{ status: number; headers: Record<string, string>; text: Buffer }>> {
  const kept = Object.entries(headers).filter(([name]) => !ofConnection.has(name)) as [string, string][]
  const response = await fetch(`${target}${url ?? ''}`, {
    method,
    headers: kept,
    ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
  })
  const answered = [...response.headers].filter(([name]) => !ofConnection.has(name))
  return {
    status: response.status,
    headers: Object.fromEntries(answered),
    text: Buffer.from(await response.arrayBuffer()),
  }
}
