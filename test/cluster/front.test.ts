import { once } from 'node:events'
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { createFront } from '../../infra/cluster/front.ts'
import { listen as listenApp, rawConnection, rawStatus } from '../support/http.ts'

const ingestPath = '/api/logs/v1/ingest'

/** A server of a cluster as the front sees it. */
type Target = Readonly<{ address: string; requests: readonly IncomingMessage[]; stop(): Promise<void> }>

describe('the front of a cluster', () => {
  let ending: (() => Promise<unknown>)[]
  beforeEach(() => {
    ending = []
  })
  afterEach(async () => {
    for (const end of ending.reverse()) await end()
  })

  async function listen(server: http.Server): Promise<number> {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const stop = async (): Promise<void> => {
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    }
    ending.push(stop)
    return (server.address() as AddressInfo).port
  }

  async function startTarget(answer: RequestListener): Promise<Target> {
    const requests: IncomingMessage[] = []
    const server = http.createServer((request, response) => {
      requests.push(request)
      answer(request, response)
    })
    const address = `127.0.0.1:${await listen(server)}`
    const stop = async (): Promise<void> => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    return { address, requests, stop }
  }

  type Addressed = readonly Pick<Target, 'address'>[]
  async function startFront(ingest: Addressed, query: Addressed = []): Promise<string> {
    const addresses = (targets: Addressed) => () => targets.map(({ address }) => address)
    const port = await listen(createFront({ ingest: addresses(ingest), query: addresses(query) }))
    return `http://127.0.0.1:${port}`
  }

  const echo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('Content-Type', 'text/plain')
    response.end(`${request.method} ${request.url} ${await text(request)}`)
  }
  const say =
    (what: string): RequestListener =>
    (request, response) => {
      request.resume()
      request.once('end', () => response.end(what))
    }

  it('sends by path to those who ingest or those who answer, each in turn', async () => {
    const ingest = [await startTarget(say('i0')), await startTarget(say('i1'))]
    const query = [await startTarget(say('q0')), await startTarget(say('q1'))]
    const url = await startFront(ingest, query)
    const get = async (path: string): Promise<string> => (await fetch(url + path)).text()
    expect([
      await get(ingestPath),
      await get('/api/traces/v1/otlp/v1/traces'),
      await get('/api/rum/v1/ingest?key=k'),
    ]).to.deep.equal(['i0', 'i1', 'i0'])
    expect([
      await get('/app'),
      await get('/api/v1/traces'),
      await get('/api/app/logs/search'),
      await get('/'),
    ]).to.deep.equal(['q0', 'q1', 'q0', 'q1'])
  })

  it('passes method, path, body and headers on, and names the sender', async () => {
    const target = await startTarget((request, response) => void echo(request, response))
    const url = await startFront([target])
    const response = await fetch(`${url}${ingestPath}?a=%20b`, {
      method: 'POST',
      headers: { 'x-api-key': 'k', 'x-forwarded-for': '10.0.0.1', connection: 'keep-alive' },
      body: 'body',
    })
    expect(await response.text()).to.equal(`POST ${ingestPath}?a=%20b body`)
    const { headers } = target.requests[0] ?? {}
    expect(headers).to.include({ 'x-api-key': 'k', 'x-forwarded-for': '10.0.0.1, 127.0.0.1', 'content-length': '4' })
    expect(headers?.host).to.equal(new URL(url).host)
  })

  it('passes the answer’s status and every header of it on, twice where it is there twice', async () => {
    const target = await startTarget((_request, response) => {
      response.writeHead(503, ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Retry-After', '3', 'X-Odd', 'Case'])
      response.end('no')
    })
    const response = await fetch((await startFront([target])) + ingestPath)
    expect(response.status).to.equal(503)
    expect(response.headers.getSetCookie()).to.deep.equal(['a=1', 'b=2'])
    expect(response.headers.get('retry-after')).to.equal('3')
  })

  it('streams both ways: a part is there before the next is sent', async () => {
    const target = await startTarget((request, response) => {
      response.writeHead(200)
      request.pipe(response)
    })
    const parts = Promise.withResolvers<void>()
    async function* body(): AsyncGenerator<Buffer> {
      yield Buffer.from('first')
      await parts.promise
      yield Buffer.from('second')
    }
    const url = await startFront([target])
    const response = await fetch(url + ingestPath, {
      method: 'POST',
      body: Readable.toWeb(Readable.from(body())) as ReadableStream,
      duplex: 'half',
    })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).to.equal('first')
    parts.resolve()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).to.equal('second')
    expect((await reader.read()).done).to.equal(true)
  })

  it('keeps connections to the servers', async () => {
    const target = await startTarget(say('ok'))
    const url = await startFront([target])
    for (let index = 0; index < 5; index++) await (await fetch(url + ingestPath)).text()
    expect(new Set(target.requests.map(({ socket }) => socket.remotePort)).size).to.equal(1)
  })

  it('asks the next when one is not there, with the whole body', async () => {
    const gone = await startTarget(say('gone'))
    await gone.stop()
    const there = await startTarget((request, response) => void echo(request, response))
    const url = await startFront([gone, there])
    for (let index = 0; index < 4; index++) {
      const response = await fetch(url + ingestPath, { method: 'POST', body: 'x'.repeat(100_000) })
      expect(await response.text()).to.equal(`POST ${ingestPath} ${'x'.repeat(100_000)}`)
    }
  })

  it('sends nothing twice: a server that breaks off is answered for with 503', async () => {
    const targets = [0, 1].map(() =>
      startTarget((request) => void request.once('data', () => request.socket.destroy())),
    )
    const [one, two] = await Promise.all(targets)
    const url = await startFront([one as Target, two as Target])
    const response = await fetch(url + ingestPath, { method: 'POST', body: 'body' })
    expect(response.status).to.equal(503)
    expect(response.headers.get('retry-after')).to.equal('1')
    expect((one?.requests.length ?? 0) + (two?.requests.length ?? 0)).to.equal(1)
  })

  it('says 503 when nobody is there', async () => {
    const response = await fetch((await startFront([])) + ingestPath, { method: 'POST', body: 'body' })
    expect(response.status).to.equal(503)
    expect(response.headers.get('content-type')).to.equal('application/problem+json')
  })

  it('breaks an answer off that breaks off', async () => {
    const target = await startTarget((_request, response) => {
      response.write('half')
      setImmediate(() => response.destroy())
    })
    const response = await fetch((await startFront([target])) + ingestPath)
    const outcome = await response.text().catch(() => 'broken')
    expect(outcome).to.equal('broken')
  })

  it('hangs up on the server when the client hangs up', async () => {
    const hungUp = Promise.withResolvers<void>()
    const target = await startTarget((_request, response) => {
      response.write('part')
      response.once('close', () => hungUp.resolve())
    })
    const stopping = new AbortController()
    const response = await fetch((await startFront([target])) + ingestPath, { signal: stopping.signal })
    stopping.abort()
    await response.text().catch(() => undefined)
    await hungUp.promise
  })

  it('brings a refusal that needs no body before there is one', async () => {
    const target = await startTarget((_request, response) => void response.writeHead(401).end())
    const { port } = new URL(await startFront([target]))
    const connection = await rawConnection(Number(port))
    connection.write(`POST ${ingestPath} HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n`)
    expect(rawStatus(await connection.until((all) => all.includes('\r\n\r\n')))).to.equal(401)
    connection.socket.destroy()
  })

  it('waits for the server to ask for a body that is announced', async () => {
    const target = await startTarget((request, response) => void echo(request, response))
    const { port } = new URL(await startFront([target]))
    const connection = await rawConnection(Number(port))
    connection.write(`POST ${ingestPath} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n`)
    await connection.until((all) => all.includes('100 Continue'))
    connection.write('body')
    expect(await connection.until((all) => all.includes(`POST ${ingestPath} body`))).to.include('200 OK')
    connection.socket.destroy()
  })

  it('leaves it to the server to refuse what else a sender expects', async () => {
    const server = await listenApp({ routes: [] })
    ending.push(server.close)
    const { port } = new URL(await startFront([{ address: `127.0.0.1:${server.port}` }]))
    const connection = await rawConnection(Number(port))
    connection.write(`POST ${ingestPath} HTTP/1.1\r\nHost: h\r\nExpect: tea\r\nContent-Length: 4\r\n\r\nbody`)
    const answer = await connection.until((all) => all.includes('\r\n\r\n'))
    connection.socket.destroy()
    expect([rawStatus(answer), /content-type: (.*)/i.exec(answer)?.[1]]).to.deep.equal([
      417,
      'application/problem+json',
    ])
  })

  it('brings the answer of a real server to a body that it does not read', async () => {
    const handler: Route['handler'] = () => refusal('payload_too_large', 'This is too big.')
    const server = await listenApp({ routes: [{ method: 'POST', path: ingestPath, auth: 'public', handler }] })
    ending.push(server.close)
    const { port } = new URL(await startFront([{ address: `127.0.0.1:${server.port}` }]))
    const connection = await rawConnection(Number(port))
    connection.write(`POST ${ingestPath} HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n`)
    connection.write('x'.repeat(1_000_000))
    const answer = await connection.until((all) => all.includes('This is too big.'))
    expect(rawStatus(answer)).to.equal(413)
    expect(answer).to.match(/connection: close/i)
    await connection.ended()
  })
})
