import { randomBytes } from 'node:crypto'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { encode } from '@msgpack/msgpack'
import { expect } from 'chai'
import { plans } from '#src/config.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'
import { TransientError } from '#src/lib/failure.ts'
import { rawConnection, rawStatus } from '#test/support/http.ts'
import { startIngest, type Answer, type TestIngest } from '#test/support/ingest.ts'
import { fieldsOf, textOf } from './otlp-answers.ts'

const path = '/api/logs/v1/ingest'
const line = { level: 'info', message: 'paid', order: 7 }
const json = { 'content-type': 'application/json' }

describe('POST /api/logs/v1/ingest', () => {
  let ingest: TestIngest
  let bearer: Record<string, string>
  beforeEach(async () => {
    ingest = await startIngest()
    bearer = { authorization: `Bearer ${ingest.keys.logs}` }
  })
  afterEach(() => ingest.server.close())
  const post = (body: string | Uint8Array, headers: Record<string, string> = json): Promise<Answer> =>
    ingest.post(path, body, { ...bearer, ...headers })

  it('acknowledges what is in the log, and says where', async () => {
    const answer = await post(JSON.stringify([line, line]))
    expect(answer.status).to.equal(200)
    expect(answer.json).to.deep.equal({ accepted: 2, rejected: 0, errors: [] })
    expect(answer.headers.get('content-type')).to.equal('application/json')
    const [event] = await ingest.events()
    expect(answer.headers.get('throughline-position')).to.equal(`0/${event?.position}`)
    expect(event).to.deep.include({
      type: 'logs.received',
      workspaceId: 'acme',
      keyId: 'key-2',
      receivedAt: ingest.now.ms,
      retentionClass: '30d',
      identified: false,
      contentType: 'application/json',
      schemaVersion: 1,
    })
    expect(event?.counts).to.deep.include({ logs: 2, spans: 0 })
    expect(ingest.payloadText(event)).to.equal(JSON.stringify([line, line]))
  })

  const packed = Buffer.from(JSON.stringify([line]))
  for (const [name, body] of [
    ['gzip', gzipSync(packed)],
    ['deflate', deflateSync(packed)],
    ['br', brotliCompressSync(packed)],
    ['zstd', zstdCompressSync(packed)],
    ['GZIP', gzipSync(packed)],
  ] as const) {
    it(`takes ${name}, and keeps the body decompressed`, async () => {
      expect((await post(body, { ...json, 'content-encoding': name })).json).to.deep.include({ accepted: 1 })
      expect(ingest.payloadText((await ingest.events())[0])).to.equal(packed.toString())
    })
  }

  it('takes the last of several types, as fetch joins that of a logger and that of its user', async () => {
    // Recorded of @loglayer/transport-http 2.4.0, set up as its README says.
    const lines = '{"level":"info","message":"one"}\n{"level":"warn","message":"two"}'
    for (const type of [
      'application/json, application/x-ndjson',
      'application/x-ndjson,application/json;charset=utf-8',
    ]) {
      expect((await post(lines, { 'content-type': type })).json, type).to.deep.include({ accepted: 2 })
    }
    expect((await post(lines, { 'content-type': 'application/json, application/xml' })).status).to.equal(415)
  })

  it('takes MessagePack, also an empty array', async () => {
    const type = { 'content-type': 'application/msgpack' }
    expect((await post(encode([line, line, line]), type)).json).to.deep.include({ accepted: 3 })
    const empty = await post(encode([]), type)
    expect(empty.status).to.equal(200)
    expect(empty.json).to.deep.equal({ accepted: 0, rejected: 0, errors: [] })
    expect(await ingest.events()).to.have.length(1)
  })

  it('keeps the good records of a partly bad batch, byte for byte', async () => {
    const answer = await post('[{"message":"a", "n": 12345678901234567890},7,"x",{"message":"b"}]')
    expect(answer.status).to.equal(200)
    const { accepted, rejected, errors } = answer.json as {
      accepted: number
      rejected: number
      errors: { index: number }[]
    }
    expect([accepted, rejected, errors.map(({ index }) => index)]).to.deep.equal([2, 2, [1, 2]])
    const [event] = await ingest.events()
    expect(event?.counts).to.deep.include({ logs: 2, refused: 2 })
    const text = ingest.payloadText(event)
    expect(text).to.contain('{"message":"a", "n": 12345678901234567890}').and.to.contain('{"message":"b"}')
  })

  it('keeps what stands beside a list with each of its records', async () => {
    const body = '{"service":"shop","logs":[{"message":"a"},{"message":"b","service":"desk"}],"env":"live"}'
    expect((await post(body)).json).to.deep.equal({ accepted: 2, rejected: 0, errors: [] })
    expect(ingest.payloadText((await ingest.events())[0])).to.equal(
      '[{"message":"a","service":"shop","env":"live"},{"message":"b","service":"desk","env":"live"}]',
    )
  })

  it("holds the copies of what stands beside a list under the workspace's half of the budget", async () => {
    const small = await startIngest({ limits: { bodiesInFlightBytesMax: 100_000 } })
    const beside = (records: number): string =>
      `{"context":"${'x'.repeat(1_000)}","logs":[${'{"message":"a"},'.repeat(records).slice(0, -1)}]}`
    const statuses: number[] = []
    for (const records of [60, 30, 30]) {
      const headers = { ...json, authorization: `Bearer ${small.keys.logs}` }
      statuses.push((await small.post('/api/logs/v1/ingest', beside(records), headers)).status)
    }
    await small.server.close()
    expect(statuses).to.deep.equal([503, 200, 200])
  })

  it('answers a batch that is all bad with 400 in the same form, of 20 errors at most, and counts it, once', async () => {
    const answer = await post(JSON.stringify(Array.from({ length: 30 }, () => 1)))
    expect(answer.status).to.equal(400)
    const { accepted, rejected, errors } = answer.json as { accepted: number; rejected: number; errors: unknown[] }
    expect([accepted, rejected, errors.length]).to.deep.equal([0, 30, 20])
    expect((await post(JSON.stringify(Array.from({ length: 30 }, () => 1)))).text).to.equal(answer.text)
    const [event, ...more] = await ingest.events()
    expect(event).to.deep.include({ type: 'logs.received', identified: true })
    expect(event?.counts).to.deep.include({ logs: 0, refused: 30 })
    expect(ingest.payloadText(event)).to.equal('[]')
    expect(more).to.deep.equal([])
  })

  it('counts a batch that is refused for its size, once, also where its sender sends it again with a key', async () => {
    const body = JSON.stringify(Array.from({ length: 10_001 }, () => line))
    for (const more of [{}, { 'idempotency-key': 'a' }]) {
      const answer = await post(body, { ...json, ...more })
      expect(answer.json)
        .to.deep.include({ status: 413, code: 'payload_too_large' })
        .and.not.to.have.property('records')
    }
    expect((await ingest.events()).map(({ counts }) => [counts.logs, counts.refused])).to.deep.equal([[0, 10_001]])
  })

  for (const [what, body, headers, status, code] of [
    ['what is no JSON', '{"message":', json, 400, 'invalid_body'],
    ['an OTLP request', '{"resourceLogs":[{}]}', json, 400, 'invalid_body'],
    [
      'a line that is an OTLP request',
      '{"resourceLogs":[{}]}\n',
      { 'content-type': 'application/x-ndjson' },
      400,
      'invalid_body',
    ],
    ['a type that is no log', '<a/>', { 'content-type': 'application/xml' }, 415, 'unsupported_media_type'],
    ['two encodings', packed, { ...json, 'content-encoding': 'gzip, gzip' }, 415, 'unsupported_encoding'],
    [
      'gzip that is cut',
      gzipSync(packed).subarray(0, 20),
      { ...json, 'content-encoding': 'gzip' },
      400,
      'invalid_body',
    ],
    ['an endless Idempotency-Key', '{}', { ...json, 'idempotency-key': 'k'.repeat(257) }, 400, 'invalid_request'],
  ] as const) {
    it(`refuses ${what} with ${status} as a problem, and stores nothing`, async () => {
      const answer = await post(body, headers)
      expect(answer.status).to.equal(status)
      expect(answer.headers.get('content-type')).to.equal('application/problem+json')
      expect(answer.json).to.deep.include({ code, status })
      expect(await ingest.events()).to.deep.equal([])
    })
  }

  it('tells senders of OTLP in their own format (the Collector and Java show no other), and loki4j, which prints it', async () => {
    const protobuf = { 'content-type': 'application/x-protobuf' }
    for (const [below, headers, status, told] of [
      ['', protobuf, 415, 'neither OTLP nor a push to Grafana Loki is read here'],
      ['', { ...protobuf, authorization: `Bearer ${ingest.keys.tracing}` }, 403, 'This is a tracing source token'],
      ['', { ...protobuf, authorization: '' }, 401, 'needs a logs source token'],
      ['/v1/logs', protobuf, 404, 'There is nothing at'],
    ] as const) {
      const answer = await ingest.post(path + below, '', { ...bearer, ...headers })
      expect(answer.status, below).to.equal(status)
      expect(answer.headers.get('content-type')).to.equal('application/x-protobuf')
      expect(textOf(fieldsOf(answer.body).get(2))).to.include(told)
    }
  })

  it('refuses a gzip bomb', async () => {
    const answer = await post(gzipSync(Buffer.alloc(100_000_000, ' ')), { ...json, 'content-encoding': 'gzip' })
    expect(answer.json).to.deep.include({ code: 'payload_too_large', status: 413 })
  })

  it('stores equal batches without a key twice', async () => {
    await post(JSON.stringify(line))
    await post(JSON.stringify(line))
    const ids = (await ingest.events()).map(({ id }) => id)
    expect(new Set(ids).size).to.equal(2)
  })

  it('answers a retry with an Idempotency-Key as the first, and stores it once', async () => {
    const body = '[{"message":"a"},5]'
    const headers = { ...json, 'idempotency-key': 'k'.repeat(256) }
    const first = await post(body, headers)
    const second = await post(gzipSync(body), { ...headers, 'content-encoding': 'gzip' })
    expect(second.text).to.equal(first.text)
    expect(second.headers.get('throughline-position')).to.equal(first.headers.get('throughline-position'))
    // What it is called does not make it another request; as text, none of it would be rejected.
    expect((await post(body, { ...headers, 'content-type': 'text/plain' })).text).to.equal(first.text)
    await post(body, { ...json, 'idempotency-key': 'batch-2' })
    await post('[{"message":"b"}]', headers)
    const events = await ingest.events()
    expect(events).to.have.length(3)
    expect(events.every(({ identified }) => identified)).to.equal(true)
  })

  it('tells where a key ends and its body begins', async () => {
    const text = { 'content-type': 'text/plain' }
    await post('later\n', { ...text, 'idempotency-key': 'sooner-or' })
    await post('-later\n', { ...text, 'idempotency-key': 'sooner-or' })
    await post('later\n', { ...text, 'idempotency-key': 'sooner-or-' })
    expect(await ingest.events()).to.have.length(3)
  })

  it('keeps equal keys of two workspaces apart, and what is under them as long as the plan of each says', async () => {
    const other = ingest.directory.addKey(ingest.directory.addWorkspace('other', plans['free']), 'logs')
    const headers = { ...json, 'idempotency-key': 'same' }
    await post('{"message":"a"}', headers)
    await ingest.post(path, '{"message":"a"}', { ...headers, authorization: `Bearer ${other}` })
    const events = await ingest.events()
    expect(events.map(({ workspaceId, retentionClass }) => [workspaceId, retentionClass])).to.deep.equal([
      ['acme', '30d'],
      ['other', '7d'],
    ])
  })

  describe('credential', () => {
    const places: Record<string, (key: string) => Record<string, string>> = {
      bearer: (key) => ({ authorization: `Bearer ${key}` }),
      'bearer in another case': (key) => ({ authorization: `bearer   ${key}` }),
      'bearer percent-encoded': (key) => ({ authorization: `Bearer%20${key}` }),
      bare: (key) => ({ authorization: key }),
      'password of Basic': (key) => ({ authorization: `Basic ${btoa(`source:${key}`)}` }),
      'user of Basic': (key) => ({ authorization: `Basic ${btoa(`${key}:`)}` }),
      'X-Api-Key': (key) => ({ 'x-api-key': key }),
    }
    for (const [place, headersOf] of Object.entries(places)) {
      it(`is taken as ${place}`, async () => {
        expect((await ingest.post(path, '{}', { ...json, ...headersOf(ingest.keys.logs) })).status).to.equal(200)
      })
    }

    it('is taken beside what a proxy in front asks for, which is no key', async () => {
      const proxys = { ...json, authorization: `Basic ${btoa('proxy:password')}` }
      expect((await ingest.post(path, '{}', { ...proxys, 'x-api-key': ingest.keys.logs })).status).to.equal(200)
      const both = { authorization: `Bearer ${ingest.keys.tracing}`, 'x-api-key': ingest.keys.logs }
      expect((await ingest.post(path, '{}', { ...json, ...both })).status, 'of two keys the first counts').to.equal(403)
    })

    it('is not taken from the address', async () => {
      const answer = await ingest.post(`${path}?key=${ingest.keys.logs}`, '{}', json)
      expect(answer.json).to.deep.include({ status: 401, code: 'missing_credential' })
      expect(answer.headers.get('www-authenticate')).to.match(/^Bearer /)
    })

    it('is none where it is longer than any key', async () => {
      const sent = (characters: number) => ingest.post(path, '{}', { ...json, authorization: 'x'.repeat(characters) })
      expect((await sent(512)).json).to.deep.include({ status: 401, code: 'invalid_credential' })
      expect((await sent(513)).json).to.deep.include({ status: 401, code: 'missing_credential' })
    })

    it('is refused before the body is read', async () => {
      const raw = await rawConnection(ingest.server.port)
      raw.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer lt_no\r\nContent-Length: 5000000\r\n\r\n`)
      const text = await raw.until((so) => so.includes('request_id'))
      expect(rawStatus(text)).to.equal(401)
      expect(text).to.contain('invalid_credential')
      raw.socket.destroy()
    })

    it('names the right kind to a wrong one', async () => {
      const answer = await ingest.post(path, '{}', { ...json, authorization: `Bearer ${ingest.keys.tracing}` })
      expect(answer.json).to.deep.include({ status: 403, code: 'wrong_key_kind' })
      expect(answer.text).to.contain('lt_')
    })

    it('of a plan without logs is refused with the feature', async () => {
      ingest.directory.setPlan('acme', plans['tracing-only'] as WorkspacePlan)
      expect((await post('{}')).json).to.deep.include({ status: 403, code: 'entitlement_required', feature: 'logs' })
    })

    it('is refused in a browser, without CORS', async () => {
      const answer = await post('{}', { ...json, origin: 'https://shop.example' })
      expect(answer.json).to.deep.include({ status: 403, code: 'secret_in_browser' })
      expect(answer.headers.get('access-control-allow-origin')).to.equal(null)
    })

    it('is the only thing that says whose the records are', async () => {
      const query = '?workspace=other&workspace_id=other&workspaceId=other&unknown=1'
      ingest.directory.addWorkspace('other')
      const body = '{"workspace":"other","workspace_id":"other"}'
      expect(
        (await ingest.post(path + query, body, { ...json, ...bearer, 'x-workspace-id': 'other' })).status,
      ).to.equal(200)
      expect((await ingest.events())[0]?.workspaceId).to.equal('acme')
    })
  })

  for (const method of ['GET', 'OPTIONS', 'PUT']) {
    it(`answers ${method} with 405 and Allow`, async () => {
      const response = await fetch(ingest.server.baseUrl + path, { method, headers: { origin: 'https://a.example' } })
      expect(response.status).to.equal(405)
      expect(response.headers.get('allow')).to.equal('POST')
      expect(response.headers.get('access-control-allow-origin')).to.equal(null)
    })
  }
})

describe('POST /api/logs/v1/ingest under pressure', () => {
  let ingest: TestIngest
  afterEach(() => ingest.server.close())

  it('answers 429 with its policy when a key is too fast, and takes more after a while, though the wall clock stands still', async () => {
    ingest = await startIngest({ limits: { requestsPerKeyBurst: 2, requestsPerKeyPerSecond: 1 } })
    const headers = { ...json, authorization: `Bearer ${ingest.keys.logs}` }
    const send = () => ingest.post(path, '{}', headers)
    expect([(await send()).status, (await send()).status]).to.deep.equal([200, 200])
    const limited = await send()
    expect(limited.json).to.deep.include({ status: 429, code: 'rate_limited' })
    expect(Number(limited.headers.get('retry-after'))).to.be.within(1, 4)
    expect(limited.headers.get('ratelimit-policy')).to.equal('"key";q=2;w=2')
    expect(limited.headers.get('ratelimit')).to.equal('"key";r=0;t=1')
    ingest.now.ticks += 1_000
    expect((await send()).status).to.equal(200)
  })

  it('holds each key of a workspace to a rate of its own, and all of them to one: 503 here, because Python drops 429', async () => {
    const perKey = { requestsPerKeyBurst: 1, requestsPerKeyPerSecond: 1 }
    const perWorkspace = { requestsPerWorkspaceBurst: 2, requestsPerWorkspacePerSecond: 1 }
    ingest = await startIngest({ limits: { ...perKey, ...perWorkspace } })
    const { directory, keys, workspace } = ingest
    const send = (key: string, to = path) => ingest.post(to, '{}', { ...json, authorization: `Bearer ${key}` })
    const another = (): string => directory.addKey(workspace, 'logs')
    expect([(await send(keys.logs)).status, (await send(another())).status]).to.deep.equal([200, 200])
    const here = await send(another())
    expect(here.json).to.deep.include({ status: 503, code: 'overloaded' })
    const browser = await send(keys.publishable, '/api/rum/v1/ingest')
    expect(browser.json).to.deep.include({ status: 429, code: 'rate_limited' })
    for (const { headers } of [here, browser]) expect(headers.get('ratelimit')).to.equal('"workspace";r=0;t=1')
    expect((await send(directory.addKey(directory.addWorkspace('other'), 'logs'))).status).to.equal(200)
  })

  it('answers 503 where what it would keep is more than a workspace may hold, and holds nothing afterwards', async () => {
    ingest = await startIngest({ limits: { bodiesInFlightBytesMax: 50_000 } })
    const headers = { ...json, authorization: `Bearer ${ingest.keys.logs}` }
    const send = (records: number): Promise<Answer> =>
      ingest.post(
        path,
        JSON.stringify({ note: 'x'.repeat(10_000), logs: Array.from({ length: records }, () => ({})) }),
        headers,
      )
    expect((await send(10)).json).to.deep.include({ status: 503, code: 'overloaded' })
    expect(await ingest.events()).to.deep.equal([])
    for (let turn = 0; turn < 3; turn++) expect((await send(2)).status).to.equal(200)
  })

  it('takes bodies in of a workspace while another holds as many as one may', async () => {
    ingest = await startIngest({ limits: { bodiesInFlightBytesMax: 100_000 } })
    const { directory, keys, server } = ingest
    const other = directory.addKey(directory.addWorkspace('other'), 'logs')
    const send = async (key: string): Promise<number> =>
      (
        await ingest.post(path, JSON.stringify({ message: 'x'.repeat(20_000) }), {
          ...json,
          authorization: `Bearer ${key}`,
        })
      ).status
    const raw = await rawConnection(server.port)
    raw.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${keys.logs}\r\nContent-Length: 90000\r\n\r\n`)
    raw.write('x'.repeat(50_000))
    while ((await send(keys.logs)) !== 503);
    expect(await send(other)).to.equal(200)
    raw.socket.destroy()
    while ((await send(keys.logs)) !== 200);
  })

  it('answers 503 with Retry-After when the log fails, and reports it', async () => {
    ingest = await startIngest({
      through: (stream) => ({
        ...stream,
        append: () => Promise.reject(new TransientError({ operation: 'append to', subject: 'the log' })),
      }),
    })
    const answer = await ingest.post(path, '{}', { ...json, authorization: `Bearer ${ingest.keys.logs}` })
    expect(answer.json).to.deep.include({ status: 503, code: 'unavailable' })
    expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 4)
    expect(ingest.server.failures).to.have.length(1)
  })

  it('leaves the bytes alone of an append that failed: the log may still be about to write them', async () => {
    let kept: Uint8Array = Buffer.alloc(0)
    ingest = await startIngest({
      through: (stream) => ({
        ...stream,
        append: ([event]) => {
          kept = event?.payload ?? kept
          return Promise.reject(new TransientError({ operation: 'append to', subject: 'the log' }))
        },
      }),
    })
    const sent = gzipSync(randomBytes(50_000).toString('hex'))
    const headers = { authorization: `Bearer ${ingest.keys.logs}`, 'content-encoding': 'gzip' }
    expect((await ingest.post(path, sent, headers)).status).to.equal(503)
    expect(Buffer.from(kept).equals(sent)).to.equal(true)
  })
})
