import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { createHttpApp } from '#src/http/app.ts'
import { retryAfterS, statusOf } from '#src/http/errors.ts'
import { createHttpServer } from '#src/http/server.ts'
import type { Route } from '#src/http/route.ts'
import { refusal } from '#src/events/refusal.ts'
import { LateError, TransientError } from '#src/lib/failure.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { listen, listenAnywhere, rawConnection, rawStatus, type TestServer } from '#test/support/http.ts'

/** When a client has come to `/left`, and when it has hung up. */
const came = Promise.withResolvers<void>()
const left = Promise.withResolvers<void>()

const routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/left',
    auth: 'public',
    handler: async (ctx) => {
      came.resolve()
      await once(ctx.res, 'close')
      left.resolve()
      throw new Error('nobody waits for it any more')
    },
  },
  {
    method: 'GET',
    path: '/hello/:name',
    auth: 'public',
    handler: (ctx) => {
      ctx.body = { hello: ctx['params'].name as string, ip: ctx.ip, asked: `${ctx.protocol}://${ctx.host}` }
    },
  },
  { method: 'GET', path: '/hello/fixed', auth: 'public', handler: () => undefined },
  {
    method: 'GET',
    path: '/refused',
    auth: 'public',
    handler: () => refusal('query_syntax', 'Odd.', { position: 3, expected: [')'] }),
  },
  { method: 'POST', path: '/limited', auth: 'key', handler: () => refusal('rate_limited', 'Slower.') },
  { method: 'POST', path: '/secret', auth: 'key', handler: () => refusal('invalid_credential', 'Unknown.') },
  { method: 'POST', path: '/keyless', auth: 'key', handler: () => refusal('missing_credential', 'None.') },
  {
    method: 'POST',
    path: '/broken',
    auth: 'key',
    handler: () => Promise.reject(new Error('the inner detail of it')),
  },
  {
    method: 'GET',
    path: '/late',
    auth: 'public',
    handler: () => Promise.reject(new LateError({ operation: 'search', subject: 'an index' })),
  },
  {
    method: 'POST',
    path: '/passing',
    auth: 'key',
    handler: () => Promise.reject(new TransientError({ operation: 'append to', subject: 'the log' })),
    refuse: (ctx, refused) => {
      ctx.status = statusOf(refused.code)
      ctx.body = `own form: ${refused.code}`
    },
  },
  { method: 'POST', path: '/passing/within', auth: 'key', handler: () => undefined },
  {
    method: 'GET',
    path: '/stream/:first',
    auth: 'public',
    handler: (ctx) => {
      const isFirst = ctx['params'].first === 'broken'
      ctx.attachment('parts.txt')
      ctx.set('Location', '/elsewhere')
      ctx.body = Readable.from(
        (async function* parts() {
          if (isFirst) throw new Error('broken before the first byte')
          yield 'some of it'
          await new Promise((resolve) => setImmediate(resolve))
          throw new Error('broken later')
        })(),
      )
    },
  },
  { method: 'GET', path: '/api/private', auth: 'session', handler: (ctx) => void (ctx.body = 'private') },
  {
    method: 'GET',
    path: '/app/private',
    auth: 'session',
    signInPage: '/app/sign-in',
    handler: (ctx) => void (ctx.body = 'private'),
  },
]

describe('http application', () => {
  let server: TestServer
  before(async () => {
    server = await listen({ routes })
  })
  after(() => server.close())
  const ask = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(server.baseUrl + path, { redirect: 'manual', ...init })

  it('runs the first route that matches, with its parameters', async () => {
    const response = await ask('/hello/fixed')
    expect(response.status).to.equal(200)
    expect(await response.json()).to.deep.include({ hello: 'fixed' })
    expect(response.headers.get('x-content-type-options')).to.equal('nosniff')
    expect(response.headers.get('x-request-id')).to.be.a('string')
    expect(response.headers.get('x-powered-by')).to.equal(null)
  })

  it('lets no other site see its addresses, which hold what was searched for', async () => {
    for (const path of ['/hello/fixed', '/nowhere']) {
      expect((await ask(path)).headers.get('referrer-policy'), path).to.equal('same-origin')
    }
  })

  it('answers HEAD like GET without the body', async () => {
    const response = await ask('/hello/you', { method: 'HEAD' })
    expect(response.status).to.equal(200)
    expect(Number(response.headers.get('content-length'))).to.be.greaterThan(0)
    expect(await response.text()).to.equal('')
  })

  it('answers an unknown path with 404 as a problem document', async () => {
    const response = await ask('/Hello/you')
    expect(response.status).to.equal(404)
    expect(response.headers.get('content-type')).to.equal('application/problem+json')
    const problem = (await response.json()) as Record<string, unknown>
    expect(problem).to.deep.include({ type: 'about:blank', status: 404, code: 'not_found', title: 'Not found' })
    expect(problem['request_id']).to.equal(response.headers.get('x-request-id'))
    expect(response.headers.get('retry-after'), 'it will not pass').to.equal(null)
  })

  it('answers an unknown path under a route in the form of that route', async () => {
    const response = await ask('/passing/by')
    expect([response.status, await response.text()]).to.deep.equal([404, 'own form: not_found'])
    expect((await ask('/passing/within/it')).headers.get('content-type')).to.equal('application/problem+json')
    expect((await ask('/passingby')).headers.get('content-type')).to.equal('application/problem+json')
  })

  for (const method of ['GET', 'OPTIONS', 'DELETE']) {
    it(`answers ${method} where only POST is known with 405 and Allow`, async () => {
      const response = await ask('/secret', { method })
      expect(response.status).to.equal(405)
      expect(response.headers.get('allow')).to.equal('POST')
      expect(await response.json()).to.deep.include({ code: 'method_not_allowed' })
    })
  }

  it('names GET and HEAD in Allow', async () => {
    const response = await ask('/refused', { method: 'POST' })
    expect(response.status).to.equal(405)
    expect(response.headers.get('allow')).to.equal('GET, HEAD')
  })

  it('tells who sends to a wrong address which are right', async () => {
    const detailOf = async (path: string, method: string): Promise<unknown> =>
      ((await (await ask(path, { method })).json()) as { detail: string }).detail
    const right = 'Traces are sent to /api/traces/v1/otlp, logs to /api/logs/v1/ingest'
    expect(await detailOf('/api/logs', 'POST')).to.include(`There is nothing at /api/logs. ${right}`)
    expect(await detailOf('/refused', 'POST')).to.include(`/refused takes GET, HEAD, not POST. ${right}`)
    expect(await detailOf('/api/logs', 'GET')).to.equal('There is nothing at /api/logs.')
    expect(await detailOf('/app/logs', 'POST')).to.equal('There is nothing at /app/logs.')
  })

  it('sends the members of a refusal', async () => {
    const response = await ask('/refused')
    expect(response.status).to.equal(400)
    expect(await response.json()).to.deep.include({
      code: 'query_syntax',
      detail: 'Odd.',
      position: 3,
      expected: [')'],
    })
  })

  it('sends Retry-After from 1 to 4 with 429', async () => {
    const response = await ask('/limited', { method: 'POST' })
    expect(response.status).to.equal(429)
    expect(response.headers.get('retry-after')).to.equal('3')
    expect([0, 0.999].map((random) => retryAfterS(() => random))).to.deep.equal([1, 4])
  })

  it('sends WWW-Authenticate with 401', async () => {
    const response = await ask('/secret', { method: 'POST' })
    expect(response.status).to.equal(401)
    expect(response.headers.get('www-authenticate')).to.equal('Bearer realm="throughline", error="invalid_token"')
    const keyless = await ask('/keyless', { method: 'POST' })
    // Of a request without a key no error is told (RFC 6750, 3.1).
    expect(keyless.headers.get('www-authenticate')).to.equal('Bearer realm="throughline"')
    expect(keyless.headers.get('cache-control')).to.equal('no-store')
  })

  it('answers an unknown failure with 503, shows nothing of it, and reports it', async () => {
    const response = await ask('/broken?key=of-somebody', { method: 'POST' })
    expect(response.status).to.equal(503)
    expect(response.headers.get('retry-after')).to.equal('3')
    const text = await response.text()
    expect(text).not.to.contain('inner detail')
    const reported = server.failures.at(-1)
    expect(reported?.requestId).to.equal(response.headers.get('x-request-id'))
    expect(String(reported?.error)).to.contain('inner detail')
    expect(reported?.path, 'without what may be a key').to.equal('/broken')
  })

  it('says of what was not done in time that less may be asked, and reports it', async () => {
    const before = server.failures.length
    const response = await ask('/late')
    expect(response.status).to.equal(503)
    const { code, detail } = (await response.json()) as Readonly<{ code: string; detail: string }>
    expect(code).to.equal('unavailable')
    expect(detail).to.contain('Ask for less').and.not.to.contain('nothing is wrong with the request')
    expect(server.failures).to.have.length(before + 1)
  })

  it('answers a body that fails before its first byte with 503', async () => {
    const before = server.failures.length
    const response = await ask('/stream/broken')
    expect(response.status).to.equal(503)
    expect(response.headers.get('content-disposition')).to.equal(null)
    expect(response.headers.get('location')).to.equal(null)
    expect(await response.json()).to.deep.include({ code: 'unavailable' })
    expect(server.failures).to.have.length(before + 1)
  })

  it('sends failures in the form of the route', async () => {
    const response = await ask('/passing', { method: 'POST' })
    expect(response.status).to.equal(503)
    expect(await response.text()).to.equal('own form: unavailable')
    expect(await (await ask('/passing')).text()).to.equal('own form: method_not_allowed')
  })

  it('refuses a session route without a session', async () => {
    const response = await ask('/api/private', { headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate' } })
    expect(response.status).to.equal(401)
    expect(response.headers.get('www-authenticate')).to.equal('Session realm="throughline"')
    expect(await response.json()).to.deep.include({ code: 'not_signed_in' })
  })

  it('sends a browser that navigates to sign-in, and only there', async () => {
    const get = async (headers: string): Promise<string> => {
      const raw = await rawConnection(server.port)
      raw.write(`GET /app/private?a=1 HTTP/1.1\r\nHost: a\r\n${headers}Connection: close\r\n\r\n`)
      return raw.ended()
    }
    const page = await get('Accept: text/html,*/*\r\n')
    expect(rawStatus(page)).to.equal(303)
    expect(page).to.contain('Location: /app/sign-in?next=%2Fapp%2Fprivate%3Fa%3D1\r\n')
    expect(page).to.contain('Cache-Control: no-store\r\n')
    expect(rawStatus(await get('Accept: text/html\r\nSec-Fetch-Mode: navigate\r\n'))).to.equal(303)
    expect(rawStatus(await get('Accept: text/html\r\nSec-Fetch-Mode: cors\r\n'))).to.equal(401)
    expect(rawStatus(await get(''))).to.equal(401)
  })

  it('does not start with a route that does not say who may use it', () => {
    const route = { method: 'GET', path: '/open', handler: () => undefined } as unknown as Route
    const create = () => createHttpApp({ routes: [route], random: () => 0, trustedProxies: 0, report: () => undefined })
    expect(create).to.throw('/open does not say who may use it')
  })

  it('believes as many proxies as it was told to', async () => {
    const said = { 'x-forwarded-for': '10.9.9.9, 10.1.1.1', 'x-forwarded-proto': 'https' }
    const headers = { ...said, 'x-forwarded-host': 'shop.example' }
    const { baseUrl: asked } = server
    expect(await (await ask('/hello/a', { headers })).json()).to.deep.include({ ip: '127.0.0.1', asked })
    const behind = await listen({ routes, trustedProxies: 1 })
    const answer = await (await fetch(`${behind.baseUrl}/hello/a`, { headers })).json()
    await behind.close()
    expect(answer).to.deep.include({ ip: '10.1.1.1', asked: 'https://shop.example' })
  })

  it('answers what is no HTTP request, and too large a header, with a problem', async () => {
    const odd = await rawConnection(server.port)
    odd.write('NONSENSE\r\n\r\n')
    const text = await odd.ended()
    expect(rawStatus(text)).to.equal(400)
    expect(text).to.contain('application/problem+json')
    const withHeader = (bytes: number): string =>
      `GET /hello/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Long: ${'a'.repeat(bytes)}\r\n\r\n`
    const long = await rawConnection(server.port)
    long.write(withHeader(60_000))
    expect(rawStatus(await long.ended())).to.equal(200)
    const large = await rawConnection(server.port)
    large.write(withHeader(100_000))
    const refused = await large.ended()
    expect(rawStatus(refused)).to.equal(431)
    expect(refused).to.contain('at most 65536 bytes')
  })

  it('breaks off a body that fails while it is sent, and reports it once', async () => {
    const before = server.failures.length
    const response = await ask('/stream/later')
    expect(response.status).to.equal(200)
    const cut = await response.text().catch(() => 'cut')
    expect(cut).to.equal('cut')
    // A later request is answered after all that the broken one has reported.
    await ask('/hello/you')
    expect(server.failures.slice(before).map(({ error }) => String(error))).to.deep.equal(['Error: broken later'])
  })

  it('reports no failure of what nobody waits for any more', async () => {
    const before = server.failures.length
    const raw = await rawConnection(server.port)
    raw.write('GET /left HTTP/1.1\r\nHost: a\r\n\r\n')
    await came.promise
    raw.socket.destroy()
    await left.promise
    await ask('/hello/you')
    expect(server.failures.slice(before)).to.deep.equal([])
  })

  it('gives up on a sender of slow headers', async () => {
    const hasty = await listen({ routes, limits: { ...limits, headersTimeoutMs: 50, bodyTimeoutMs: 50 } })
    const raw = await rawConnection(hasty.port)
    raw.write('POST /secret HTTP/1.1\r\nHost: ')
    const refused = await raw.ended()
    expect(rawStatus(refused)).to.equal(408)
    expect(refused).to.contain('did not come to its end in time')
    await hasty.close()
  })

  it('gives up on a slow handshake of TLS', async () => {
    const { certificate: cert, key } = makeCertificate()
    const hasty = createHttpServer(() => undefined, { limits: { ...limits, headersTimeoutMs: 50 }, tls: { cert, key } })
    const raw = await rawConnection(await listenAnywhere(hasty.server))
    // How a hello begins (RFC 8446 §5.1).
    raw.write(Buffer.from('1603010200010001fc0303', 'hex'))
    expect(await raw.ended()).to.equal('')
    await hasty.stop()
  })

  it('refuses a length and chunks together', async () => {
    const raw = await rawConnection(server.port)
    raw.write('POST /secret HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')
    expect(rawStatus(await raw.ended())).to.equal(400)
  })

  it('keeps idle connections longer than senders do, and no header longer than it must', () => {
    const { server: made } = createHttpServer(() => undefined, { limits })
    expect(made.keepAliveTimeout).to.be.at.least(75_000)
    expect(made.headersTimeout).to.equal(10_000)
    expect(made.requestTimeout).to.be.within(15_000, 30_000)
  })

  it('answers what is under way when it stops, and takes no more', async () => {
    let answer: () => void = () => undefined
    const { promise: arrived, resolve } = Promise.withResolvers<void>()
    const callback = (_request: unknown, response: { end: (text: string) => void }): void => {
      answer = () => response.end('late')
      resolve()
    }
    const { server: made, stop } = createHttpServer(callback, { limits })
    made.listen(0, '127.0.0.1')
    await once(made, 'listening')
    const { port } = made.address() as AddressInfo
    const raw = await rawConnection(port)
    raw.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await arrived
    const stopped = stop()
    answer()
    expect(await raw.until((text) => text.includes('late'))).to.contain('200 OK')
    raw.socket.end()
    await stopped
    const refused = await fetch(`http://127.0.0.1:${port}/`).catch(() => 'refused')
    expect(refused).to.equal('refused')
  })

  it('refuses a target that is no address, whoever asks, and takes one that is whole', async () => {
    const before = server.failures.length
    const askFor = async (target: string): Promise<string> => {
      const raw = await rawConnection(server.port)
      raw.write(`POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
      return raw.ended()
    }
    for (const target of ['http://[/', 'http://', 'http://a:99999/', 'x:y', 'ftp://a.example/limited']) {
      const answer = await askFor(target)
      expect([target, rawStatus(answer)]).to.deep.equal([target, 400])
      expect(answer).to.include('application/problem+json').and.to.include('"code":"invalid_request"')
    }
    expect(rawStatus(await askFor('*'))).to.equal(404)
    expect(rawStatus(await askFor('http://a.example/limited?b=c'))).to.equal(429)
    expect(rawStatus(await askFor('//[/limited'))).to.equal(404)
    expect(rawStatus(await askFor('//a@[/#'))).to.equal(404)
    expect(rawStatus(await askFor('/limited#//a@[/'))).to.equal(429)
    expect(server.failures).to.have.length(before)
    expect((await ask('/hello/ada')).status).to.equal(200)
  })

  describe('what is refused before it is anybody’s request', () => {
    const length = 'Content-Length: 0\r\n'
    const cases: readonly (readonly [what: string, sent: string, status: number, detail: string])[] = [
      ['two Host headers', `POST /limited HTTP/1.1\r\nHost: a\r\nhost: b\r\n${length}`, 400, 'one Host header'],
      ['no Host header', `POST /limited HTTP/1.1\r\n${length}`, 400, 'one Host header'],
      ['another expectation', `POST /limited HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n${length}`, 417, '100-continue'],
      [
        'more than one',
        `POST /limited HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, x\r\n${length}`,
        417,
        '100-continue',
      ],
      ['a tunnel', 'CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n', 405, 'no connections'],
      ['a tunnel, and names what there is', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n', 405, 'Allow: GET, HEAD, POST'],
    ]
    for (const [what, sent, status, detail] of cases) {
      it(`${what}, with a problem`, async () => {
        const raw = await rawConnection(server.port)
        raw.write(`${sent}\r\n`)
        const text = await raw.ended()
        expect(rawStatus(text)).to.equal(status)
        expect(text).to.contain('application/problem+json')
        const problem = JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as Record<string, unknown>
        expect(problem).to.include({ type: 'about:blank', status, code: 'invalid_request' })
        expect(problem).to.include.keys('title', 'request_id')
        expect(text).to.contain(detail)
      })
    }

    it('but not a header that has the word for its value', async () => {
      const raw = await rawConnection(server.port)
      raw.write(`POST /limited HTTP/1.1\r\nHost: a\r\nX-Name: host\r\nConnection: close\r\n${length}\r\n`)
      expect(rawStatus(await raw.ended())).to.equal(429)
    })

    it('but not HTTP/1.0 without a host, which has none to name', async () => {
      const raw = await rawConnection(server.port)
      raw.write(`POST /limited HTTP/1.0\r\n${length}\r\n`)
      expect(rawStatus(await raw.ended())).to.equal(429)
    })
  })
})
