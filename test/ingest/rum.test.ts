import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { plans } from '#src/config.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'
import { TransientError } from '#src/lib/failure.ts'
import { rawConnection, rawStatus } from '#test/support/http.ts'
import { startIngest, usedSpansOf, type Answer, type TestIngest } from '#test/support/ingest.ts'
import { emptySpan, encodeJson, requestOf } from '#test/support/otlp.ts'
import { hex, spansWithIds } from './otlp-answers.ts'

const path = '/api/rum/v1/ingest'
const origin = 'https://shop.example'
const json = { 'content-type': 'application/json' }
const traces = (count: number, first = 0): object =>
  JSON.parse(encodeJson(requestOf(spansWithIds(count, first)))) as object

const meta = { app: { name: 'shop' }, session: { id: 's-1' }, page: { url: 'https://shop.example/cart' } }
const faro = (more: object): string =>
  JSON.stringify({
    meta,
    logs: [{ message: 'hello', level: 'info', timestamp: '2026-11-21T12:00:00.000Z' }],
    exceptions: [{ type: 'Error', value: 'boom', timestamp: '2026-11-21T12:00:00.000Z' }],
    events: [{ name: 'click', timestamp: '2026-11-21T12:00:00.000Z' }],
    measurements: [{ type: 'web-vitals', values: { lcp: 1 }, timestamp: '2026-11-21T12:00:00.000Z' }],
    ...more,
  })

describe('POST /api/rum/v1/ingest', () => {
  let ingest: TestIngest
  let key: Record<string, string>
  beforeEach(async () => {
    ingest = await startIngest({ plan: { spansPerMonth: 10 } })
    key = { 'x-api-key': ingest.keys.publishable }
  })
  afterEach(() => ingest.server.close())
  const post = (body: string | Uint8Array, headers: Record<string, string> = json): Promise<Answer> =>
    ingest.post(path, body, { ...key, ...headers })

  it('takes what Faro sends, with 202, its session, and CORS', async () => {
    const body = faro({ traces: traces(2) })
    const headers = { ...json, origin, 'x-faro-session-id': 's-1', 'idempotency-key': 'abcdefghijklmnopqrst' }
    const answer = await post(body, headers)
    expect(answer.status).to.equal(202)
    expect(answer.json).to.deep.equal({ accepted: 6, rejected: 0 })
    expect(answer.headers.get('x-faro-session-status')).to.equal('valid')
    expect(answer.headers.get('access-control-allow-origin')).to.equal(origin)
    expect(answer.headers.get('access-control-allow-credentials')).to.equal(null)
    expect(answer.headers.get('access-control-expose-headers')).to.equal('Retry-After, X-Faro-Session-Status')
    expect(answer.headers.get('vary')).to.equal('Origin')
    const [event] = await ingest.events()
    expect(answer.headers.get('throughline-position')).to.equal(`0/${event?.position}`)
    expect(event).to.deep.include({ type: 'rum.received', identified: true, contentType: 'application/json' })
    expect(event?.counts).to.deep.include({ logs: 2, rumEvents: 2, spans: 2 })
    expect(ingest.payloadText(event)).to.equal(body)
    const retry = await post(gzipSync(body), { ...headers, 'content-encoding': 'gzip' })
    expect([retry.status, retry.text]).to.deep.equal([202, answer.text])
    expect(await ingest.events()).to.have.length(1)
  })

  it('takes OTLP JSON, the plain form, and text/plain with the key in the address', async () => {
    expect((await post(encodeJson(requestOf(spansWithIds(2))))).json).to.deep.equal({ accepted: 2, rejected: 0 })
    const plain = '{"session_id":"s","events":[{"type":"click","timestamp":1795240001079}]}'
    const beacon = await ingest.post(`${path}?key=${ingest.keys.publishable}`, plain, {
      'content-type': 'text/plain;charset=UTF-8',
    })
    expect([beacon.status, beacon.json]).to.deep.equal([202, { accepted: 1, rejected: 0 }])
    expect(beacon.headers.get('x-faro-session-status')).to.equal(null)
    expect(beacon.headers.has('access-control-allow-origin'), 'from no page').to.equal(false)
    // A beacon of a Blob names no type.
    const next = Buffer.from(plain.replace('079', '080'))
    const blob = await ingest.post(`${path}?key=${ingest.keys.publishable}`, next)
    expect([blob.status, blob.json]).to.deep.equal([202, { accepted: 1, rejected: 0 }])
    expect(await ingest.events()).to.have.length(3)
  })

  it('takes spans with the key where each SDK for pages that infra/senders.md names puts it', async () => {
    const { publishable } = ingest.keys
    const ways: readonly (readonly [string, Record<string, string>])[] = [
      [path, { authorization: `Bearer ${publishable}` }],
      [path, { authorization: publishable }],
      [`${path}?key=${publishable}`, {}],
    ]
    for (const [first, [address, headers]] of ways.entries()) {
      const body = encodeJson(requestOf(spansWithIds(1, first)))
      const answer = await ingest.post(address, body, { ...json, origin, ...headers })
      expect([answer.status, answer.json]).to.deep.equal([202, { accepted: 1, rejected: 0 }])
      expect(answer.headers.get('access-control-allow-origin')).to.equal(origin)
    }
  })

  it('takes an equal body for the same request where it has a key, spans or times, and for the next click where it has none', async () => {
    const click = '{"session_id":"s","events":[{"type":"click"}]}'
    const line = JSON.stringify({ meta, logs: [{ message: 'again', level: 'info' }] })
    for (const body of [click, line]) {
      const before = (await ingest.events()).length
      for (let time = 0; time < 3; time++) expect((await post(body)).json).to.deep.equal({ accepted: 1, rejected: 0 })
      expect(await ingest.events(), body).to.have.length(before + 3)
      for (let time = 0; time < 3; time++) await post(body, { ...json, 'idempotency-key': 'k' })
      expect(await ingest.events(), body).to.have.length(before + 4)
    }
    const before = (await ingest.events()).length
    const timestamp = '2026-11-21T08:00:00.000Z'
    const timed = [
      faro({ traces: traces(1) }),
      encodeJson(requestOf(spansWithIds(1, 5))),
      JSON.stringify({ session_id: 's', events: [{ type: 'click', timestamp }] }),
      JSON.stringify({ meta, logs: [{ message: 'again', level: 'info', timestamp }] }),
    ]
    for (const body of timed) for (let time = 0; time < 3; time++) await post(body)
    expect(await ingest.events()).to.have.length(before + timed.length)
    for (const id of ['j', 'k'])
      for (let time = 0; time < 3; time++) await post(timed[2] ?? '', { ...json, 'idempotency-key': id })
    expect(await ingest.events()).to.have.length(before + timed.length + 2)
  })

  it('takes an equal body for the next click, unless a time of each item, or a span, tells that it is the same', async () => {
    const timestamp = '2026-11-21T08:00:00.000Z'
    const event = (more: object): string => JSON.stringify({ session_id: 's', events: [{ type: 'click', ...more }] })
    const clicks = [
      event({ name: 'sort', column: 'timestamp' }),
      event({ order: { timestamp } }),
      event({ timestamp: null }),
      event({ timestamp: '' }),
      event({ timestamp: 'now' }),
      JSON.stringify({ session_id: 's', timestamp, events: [{ type: 'click' }] }),
      JSON.stringify({ session_id: 's', events: [{ type: 'view', timestamp }, { type: 'click' }] }),
      JSON.stringify({ meta, events: [{ name: 'click' }], traces: {} }),
      JSON.stringify({ meta, events: [{ name: 'click' }], traces: traces(0) }),
    ]
    for (const body of clicks) {
      const before = (await ingest.events()).length
      for (let time = 0; time < 2; time++) expect((await post(body)).status, body).to.equal(202)
      expect(await ingest.events(), body).to.have.length(before + 2)
    }
    const same = [
      event({ timestamp: 1_795_240_001_079, column: 'timestamp' }),
      JSON.stringify({ session_id: 's', events: [7, { type: 'a', timestamp }, { type: 'b', timestamp }] }),
      JSON.stringify({ meta, events: [{ name: 'click' }], traces: traces(1) }),
    ]
    for (const body of same) {
      const before = (await ingest.events()).length
      for (let time = 0; time < 2; time++) expect((await post(body)).status, body).to.equal(202)
      expect(await ingest.events(), body).to.have.length(before + 1)
    }
  })

  it('takes what was sent to another route for another request, also under the same key', async () => {
    const once = { ...json, 'idempotency-key': 'k' }
    const event = '{"session_id":"s","events":[{"type":"click","timestamp":1795240001079,"message":"clicked"}]}'
    await ingest.post('/api/logs/v1/ingest', event, { 'x-api-key': ingest.keys.logs, ...once })
    expect((await post(event, once)).json).to.deep.equal({ accepted: 1, rejected: 0 })
    const otlp = encodeJson(requestOf(spansWithIds(2)))
    await ingest.post('/api/traces/v1/otlp', otlp, { 'x-api-key': ingest.keys.tracing, ...json })
    expect((await post(otlp)).json).to.deep.equal({ accepted: 2, rejected: 0 })
    expect((await ingest.events()).map(({ type }) => type)).to.deep.equal([
      'logs.received',
      'rum.received',
      'spans.received',
      'rum.received',
    ])
  })

  it('counts spans toward the allowance, and refuses those beyond it alone', async () => {
    await post(faro({ traces: traces(8) }))
    const body = faro({ traces: traces(5, 8) })
    const answer = await post(body)
    expect([answer.status, answer.json]).to.deep.equal([202, { accepted: 6, rejected: 3 }])
    const [, received, refused] = await ingest.events()
    expect(received?.counts).to.deep.include({ logs: 2, rumEvents: 2, spans: 2 })
    expect(refused).to.deep.include({ type: 'spans.refused', id: `${received?.id}/refused` })
    expect(JSON.parse(ingest.payloadText(refused))).to.deep.equal({
      spans: spansWithIds(3, 10).map(({ traceId, spanId }) => [traceId, spanId, 'rejected_allowance']),
    })
    const kept = JSON.parse(ingest.payloadText(received)) as Record<string, unknown>
    expect(JSON.stringify(kept['traces'])).to.contain(hex(9, 16)).and.not.to.contain(hex(10, 16))
    expect(kept['logs']).to.deep.equal((JSON.parse(body) as Record<string, unknown>)['logs'])
    expect((await post(body)).json).to.deep.equal(answer.json)
    expect(await ingest.events()).to.have.length(3)
    const onlySpans = await post(encodeJson(requestOf(spansWithIds(2, 50))))
    expect([onlySpans.status, onlySpans.json]).to.deep.equal([202, { accepted: 0, rejected: 2 }])
    expect((await post(encodeJson(requestOf(spansWithIds(2, 50))))).json).to.deep.equal({ accepted: 0, rejected: 2 })
    expect((await ingest.events()).map(({ type }) => type).slice(3)).to.deep.equal(['spans.refused'])
    expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-11')).to.equal(10)
  })

  it('refuses what the plan does not include part by part', async () => {
    ingest.directory.setPlan('acme', plans['logs-only'] as WorkspacePlan)
    const answer = await post(faro({ traces: traces(2) }))
    expect([answer.status, answer.json]).to.deep.equal([202, { accepted: 4, rejected: 2 }])
    const [received, refused] = await ingest.events()
    expect(received?.counts).to.deep.include({ logs: 2, rumEvents: 2, spans: 0, refused: 0 })
    expect(ingest.payloadText(received)).not.to.contain('resourceSpans')
    expect(ingest.payloadText(refused)).to.contain('rejected_entitlement')
    ingest.directory.setPlan('acme', plans['tracing-only'] as WorkspacePlan)
    expect((await post(faro({ traces: traces(2, 5) }))).json).to.deep.equal({ accepted: 4, rejected: 2 })
    const [, , without] = await ingest.events()
    expect(without?.counts).to.deep.include({ logs: 0, rumEvents: 2, spans: 2, refused: 2 })
    expect(ingest.payloadText(without)).not.to.contain('boom')
  })

  it('takes a body that holds nothing, and stores nothing of it', async () => {
    for (const body of ['{"session_id":"s","events":[]}', encodeJson(requestOf([])), JSON.stringify({ meta })]) {
      const answer = await post(body)
      expect([answer.status, answer.json], body).to.deep.equal([202, { accepted: 0, rejected: 0 }])
      expect(answer.headers.has('throughline-position')).to.equal(false)
    }
    expect(await ingest.events()).to.deep.equal([])
  })

  it('rejects a bad item and a bad span alone', async () => {
    const bad = { ...emptySpan, traceId: hex(3, 32), spanId: '0'.repeat(16) }
    const some = JSON.parse(encodeJson(requestOf([...spansWithIds(1), bad]))) as object
    const answer = await post(faro({ events: [{ name: 'a' }, 7], traces: some }))
    expect([answer.status, answer.json]).to.deep.equal([202, { accepted: 5, rejected: 2 }])
    expect(ingest.payloadText((await ingest.events())[1])).to.contain('rejected_invalid')
  })

  it('counts what is refused with all of its body once, and answers it the same each time', async () => {
    const counted = async () => (await ingest.events()).map(({ type, counts }) => [type, counts.refused, counts.logs])
    for (const attempt of ['first', 'again']) {
      const bad = await post('{"session_id":"s","events":[5]}')
      expect([bad.status, bad.json], attempt).to.deep.equal([202, { accepted: 0, rejected: 1 }])
    }
    expect(await counted()).to.deep.equal([['rum.received', 1, 0]])
    ingest.directory.setPlan('acme', plans['tracing-only'] as WorkspacePlan)
    const lines = faro({ events: [], measurements: [] })
    for (const attempt of ['first', 'again']) {
      expect((await post(lines)).json, attempt).to.deep.equal({ accepted: 0, rejected: 2 })
    }
    expect((await counted()).slice(1)).to.deep.equal([['rum.received', 2, 0]])
    // The plan may have them when they come again.
    ingest.directory.setPlan('acme', plans['logs-only'] as WorkspacePlan)
    expect((await post(lines)).json).to.deep.equal({ accepted: 2, rejected: 0 })
    expect((await counted()).slice(2)).to.deep.equal([['rum.received', 0, 2]])
    const mixed = faro({ logs: [1], exceptions: [], events: [2, 3], measurements: [], traces: traces(2) })
    for (let time = 0; time < 2; time++) expect((await post(mixed)).json).to.deep.equal({ accepted: 0, rejected: 5 })
    expect((await counted()).slice(3)).to.deep.equal([
      ['spans.refused', 2, 0],
      ['rum.received', 3, 0],
    ])
    // By its key it is another request.
    await post(mixed, { ...json, 'idempotency-key': 'another' })
    expect((await counted()).slice(5)).to.deep.equal([
      ['spans.refused', 2, 0],
      ['rum.received', 3, 0],
    ])
  })

  it('records the refused spans of a request once, also when there is room for the good ones by the time it comes again', async () => {
    await post(faro({ traces: traces(10) }))
    const body = encodeJson(requestOf([...spansWithIds(2, 20), { ...emptySpan, traceId: hex(30, 32), spanId: '' }]))
    const first = await post(body)
    expect(first.json).to.deep.equal({ accepted: 0, rejected: 3 })
    ingest.directory.setPlan('acme', { ...(plans['pro'] as WorkspacePlan), spansPerMonth: 1_000_000 })
    await post(faro({ traces: traces(1, 40) }))
    expect((await post(body)).json).to.deep.equal(first.json)
    expect((await ingest.events()).filter(({ type }) => type === 'spans.refused')).to.have.length(1)
  })

  it('asks for the plan as it is in the log before it refuses parts, and waits for nothing where it refuses none', async () => {
    ingest.directory.setPlan('acme', plans['tracing-only'] as WorkspacePlan)
    ingest.directory.whenBehind(async () => false)
    const events = faro({ logs: [], exceptions: [], traces: traces(1) })
    expect((await post(events)).json).to.deep.equal({ accepted: 3, rejected: 0 })
    const refused = await post(faro({}))
    expect(refused.json).to.deep.include({ status: 503, code: 'unavailable' })
    expect((refused.json as { detail: string }).detail).to.match(/^What the plan allows cannot be told now/)
    ingest.directory.whenBehind(async () => {
      ingest.directory.setPlan('acme', plans['pro'] as WorkspacePlan)
      return true
    })
    expect((await post(faro({}))).json).to.deep.equal({ accepted: 4, rejected: 0 })
  })

  it('takes the last of several types, as fetch joins that of an SDK and that of its user', async () => {
    const type = { 'content-type': 'application/json, application/json' }
    expect((await post(faro({}), type)).json).to.deep.equal({ accepted: 4, rejected: 0 })
  })

  for (const [what, body, headers, status, code] of [
    ['no JSON', '{"meta":', json, 400, 'invalid_body'],
    ['another form', '{"a":1}', json, 400, 'invalid_body'],
    ['another type', faro({}), { 'content-type': 'application/x-protobuf' }, 415, 'unsupported_media_type'],
    ['another encoding', faro({}), { ...json, 'content-encoding': 'br' }, 415, 'unsupported_encoding'],
    ['a bomb', gzipSync(Buffer.alloc(70_000_000)), { ...json, 'content-encoding': 'gzip' }, 413, 'payload_too_large'],
  ] as const) {
    it(`refuses ${what} with ${status} that the page may read`, async () => {
      const answer = await post(body, { ...headers, origin })
      expect(answer.json).to.deep.include({ status, code })
      expect(answer.headers.get('access-control-allow-origin')).to.equal(origin)
      expect(await ingest.events()).to.deep.equal([])
    })
  }

  it('refuses a secret key, wherever it is, and flags it', async () => {
    for (const headers of [
      { 'x-api-key': ingest.keys.tracing },
      { authorization: `Bearer ${ingest.keys.logs}` },
      { 'x-api-key': ingest.keys.publishable, authorization: ingest.keys.api },
      { 'x-api-key': 'sk_live_something' },
    ]) {
      const answer = await ingest.post(path, faro({}), { ...json, origin, ...(headers as Record<string, string>) })
      expect(answer.json).to.deep.include({ status: 403, code: 'secret_key_in_browser' })
    }
    const { publishable, tracing } = ingest.keys
    for (const query of [`key=${tracing}`, `key=${publishable}&key=${tracing}`]) {
      const beacon = await ingest.post(`${path}?${query}`, faro({}), { 'content-type': 'text/plain' })
      expect(beacon.status, query).to.equal(403)
    }
    expect(ingest.exposed.map(({ kind }) => kind)).to.deep.equal(['tracing', 'logs', 'api', 'tracing', 'tracing'])
    expect(await ingest.events()).to.deep.equal([])
  })

  it('answers without a key, or with an unknown one, 401 before the body is there', async () => {
    for (const [line, code] of [
      ['', 'missing_credential'],
      ['X-Api-Key: pk_live_000000000000000000000000000000000000\r\n', 'invalid_credential'],
    ]) {
      const raw = await rawConnection(ingest.server.port)
      raw.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nOrigin: ${origin}\r\n${line}Content-Length: 9000\r\n\r\n`)
      const text = await raw.until((so) => so.includes('request_id'))
      expect(rawStatus(text)).to.equal(401)
      expect(text).to.contain(`"${code}"`).and.to.contain(`Access-Control-Allow-Origin: ${origin}`)
      raw.socket.destroy()
    }
  })

  it('leaves the warning of a mark that it crosses to the next request whose answer can hold it', async () => {
    const overOtlp = async (count: number, first: number): Promise<unknown> => {
      const headers = { ...json, authorization: `Bearer ${ingest.keys.tracing}` }
      const { json: answer } = await ingest.post('/api/traces/v1/otlp', JSON.stringify(traces(count, first)), headers)
      return (answer as { partialSuccess?: { errorMessage: string } }).partialSuccess?.errorMessage
    }
    expect(await overOtlp(5, 0)).to.equal(undefined)
    expect((await post(faro({ traces: traces(3, 5) }))).json).to.deep.equal({ accepted: 7, rejected: 0 })
    expect(await overOtlp(1, 8)).to.match(/^80 % of .* 1 spans are left/)
    expect(await overOtlp(1, 9)).to.match(/^95 % /)
  })

  it('refuses items that come to more values than a request may have, with the meta that each is kept with', async () => {
    const x = Array.from({ length: 100_000 }, () => 1)
    const body = (events: number): string =>
      JSON.stringify({ meta: { x }, events: Array.from({ length: events }, () => ({})) })
    expect((await post(body(8))).json).to.deep.equal({ accepted: 8, rejected: 0 })
    const refused = await post(body(320))
    expect(refused.json).to.deep.include({ status: 413, code: 'payload_too_large' })
    expect((refused.json as { detail: string }).detail).to.contain('send less meta, or smaller batches')
  })

  it('answers a preflight for every page, for two hours', async () => {
    const response = await fetch(ingest.server.baseUrl + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-api-key',
      },
    })
    expect(response.status).to.equal(204)
    expect(response.headers.get('access-control-allow-origin')).to.equal(origin)
    expect(response.headers.get('access-control-allow-methods')).to.equal('POST')
    expect(response.headers.get('access-control-max-age')).to.equal('7200')
    const allowed = response.headers.get('access-control-allow-headers')?.split(', ')
    expect(allowed).to.include.members(['content-type', 'content-encoding', 'authorization', 'x-api-key'])
    expect(allowed).to.include.members(['x-faro-session-id', 'idempotency-key', 'traceparent', 'tracestate', 'baggage'])
    expect(response.headers.get('access-control-allow-credentials')).to.equal(null)
  })

  it('takes a key with a list of origins from those alone, and lets no other page read the answer', async () => {
    const listed = ingest.directory.addKey(ingest.workspace, 'publishable', { origins: [origin] })
    const from = (page: string) => ingest.post(path, faro({}), { ...json, 'x-api-key': listed, origin: page })
    expect((await from(origin)).status).to.equal(202)
    const refused = await from('https://evil.example')
    expect(refused.json).to.deep.include({ status: 403, code: 'origin_not_allowed' })
    expect(refused.headers.get('access-control-allow-origin')).to.equal(null)
    expect(refused.headers.get('access-control-expose-headers')).to.equal(null)
    expect((await ingest.post(path, faro({ logs: [] }), { ...json, 'x-api-key': listed })).status).to.equal(202)
  })

  it('answers GET with 405 and Allow', async () => {
    const response = await fetch(ingest.server.baseUrl + path)
    expect(response.status).to.equal(405)
    expect(response.headers.get('allow')).to.equal('OPTIONS, POST')
  })
})

describe('POST /api/rum/v1/ingest under pressure', () => {
  let ingest: TestIngest
  afterEach(() => ingest.server.close())
  const post = (): Promise<Answer> =>
    ingest.post(path, faro({}), { ...json, origin, 'x-api-key': ingest.keys.publishable })

  /** A page that may not read when to come back would not wait. */
  function expectReadable({ headers }: Answer): void {
    expect(Number(headers.get('retry-after'))).to.be.within(1, 4)
    expect(headers.get('access-control-allow-origin')).to.equal(origin)
    expect(headers.get('access-control-expose-headers')).to.include('Retry-After')
    expect(headers.get('vary')).to.equal('Origin')
  }

  it('tells the page when to come back where its key is too fast', async () => {
    ingest = await startIngest({ limits: { requestsPerKeyBurst: 1, requestsPerKeyPerSecond: 1 } })
    expect((await post()).status).to.equal(202)
    const limited = await post()
    expect(limited.json).to.include({ status: 429, code: 'rate_limited' })
    expectReadable(limited)
  })

  it('tells the page when to come back where the log fails', async () => {
    const append = () => Promise.reject(new TransientError({ operation: 'append to', subject: 'the log' }))
    ingest = await startIngest({ through: (stream) => ({ ...stream, append }) })
    const failed = await post()
    expect(failed.json).to.include({ status: 503, code: 'unavailable' })
    expectReadable(failed)
  })
})
