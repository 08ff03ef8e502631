import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { createSender, waitMsOf } from '#src/cli/replay-send.ts'
import { withSink } from '#src/cli/replay-sink.ts'
import type { VerbContext } from '#src/cli/verb.ts'
import { sealEvent } from '#src/events/codec.ts'
import { noCounts, type EventType, type RecordedEvent } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { ok } from '#src/lib/result.ts'
import { encodeSuccess, type PartialSuccess } from '#src/wire/otlp/reply.ts'
import { freePort } from '#test/support/free-port.ts'

type Answer = Readonly<{ status: number; contentType: string; body: string | Uint8Array }>

const paths: Readonly<Record<string, string>> = {
  'spans.received': '/api/traces/v1/otlp',
  'logs.received': '/api/logs/v1/ingest',
  'rum.received': '/api/rum/v1/ingest',
}
const keys = { TRACES_TOKEN: 'tt_x', LOGS_TOKEN: 'lt_x', RUM_KEY: 'pk_live_x' }

function event(type: EventType, payload = '{}'): RecordedEvent {
  const header = {
    id: `acme.${type}.1`,
    type,
    schemaVersion: 1,
    workspaceId: workspaceIdOf('acme'),
    keyId: null,
    receivedAt: 1_700_000_000_000,
    retentionClass: '30d',
    identified: true,
    counts: noCounts,
    contentType: 'application/json',
  } as const
  return { ...sealEvent(header, Buffer.from(payload)), position: 4096 }
}

/** What the sender makes of an answer to an event of this type. */
async function sent(type: EventType, { status, contentType, body }: Answer): Promise<unknown> {
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.url)
    request.resume()
    response.writeHead(status, { 'Content-Type': contentType }).end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const send = createSender(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys)
    return await send(event(type)).catch((error: unknown) => String(error))
  } finally {
    server.close()
    expect(asked).to.deep.equal(paths[type] === undefined ? [] : [paths[type]])
  }
}

const json = (status: number, body: unknown): Answer => ({
  status,
  contentType: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
})

describe('an event that is sent to another installation', () => {
  for (const contentType of ['application/x-protobuf', 'application/json'] as const) {
    it(`tells the spans of it that were refused there, in ${contentType}`, async () => {
      const answer = (partial?: PartialSuccess) => ({ status: 200, ...encodeSuccess(contentType, partial) })
      const errorMessage = '10000 of 10000 spans exceed the allowance; it begins anew on 2026-12-01 — 支付'
      for (const rejectedSpans of [1, 127, 128, 10_000, 2 ** 40]) {
        const told = await sent('spans.received', answer({ rejectedSpans, errorMessage }))
        expect(told).to.deep.equal({ records: rejectedSpans, reason: errorMessage })
      }
      expect(await sent('spans.received', answer())).to.deep.equal({ records: 0, reason: undefined })
      const warned = await sent('spans.received', answer({ rejectedSpans: 0, errorMessage: '80 % are used' }))
      expect(warned).to.include({ records: 0 })
      const named = { ...answer({ rejectedSpans: 3, errorMessage }), contentType: `${contentType}; charset=utf-8` }
      expect(await sent('spans.received', named)).to.deep.equal({ records: 3, reason: errorMessage })
      const silent = await sent('spans.received', answer({ rejectedSpans: 3, errorMessage: '' }))
      expect(silent).to.deep.equal({ records: 3, reason: undefined })
    })
  }

  it('tells the logs of it that were refused there, with the first reason', async () => {
    const errors = [{ index: 1, code: 'too_large', message: 'it is larger than 1048576 bytes' }]
    expect(await sent('logs.received', json(200, { accepted: 2, rejected: 1, errors }))).to.deep.equal({
      records: 1,
      reason: 'it is larger than 1048576 bytes',
    })
    const whole = await sent('logs.received', json(200, { accepted: 3, rejected: 0, errors: [] }))
    expect(whole).to.deep.equal({ records: 0, reason: undefined })
  })

  it('tells the browser events of it that were refused there', async () => {
    const part = await sent('rum.received', json(202, { accepted: 0, rejected: 7 }))
    expect(part).to.deep.equal({ records: 7, reason: undefined })
  })

  it('is none of those where it is no event of a sender', async () => {
    expect(await sent('spans.refused', json(200, {}))).to.equal(undefined)
  })

  it('is not stored by whoever answers 200 to everything', async () => {
    const page = { status: 200, contentType: 'text/html', body: '<!doctype html><p>Welcome' }
    for (const type of ['spans.received', 'logs.received', 'rum.received'] as const) {
      expect(await sent(type, page)).to.match(/it answers 200, which is not how an event is taken: <!doctype html>/)
    }
    const said = 'PermanentError: send the event at 4096 to http'
    const none = { accepted: 0, rejected: 1, errors: [{ index: 0, code: 'invalid', message: 'no record' }] }
    expect(await sent('logs.received', json(400, none)), 'all of it is refused')
      .to.contain(said)
      .and.contain('answers 400')
    expect(await sent('logs.received', json(200, { ok: true }))).to.contain(said)
    expect(await sent('logs.received', json(200, { accepted: 1, rejected: -1 }))).to.contain(said)
    expect(await sent('spans.received', json(200, [1]))).to.contain(said)
    expect(await sent('spans.received', json(200, { partialSuccess: { rejectedSpans: 'many' } }))).to.contain(said)
    for (const rejectedSpans of ['', ' 3', '0x10', `${2 ** 60}`, 1.5]) {
      const told = await sent('spans.received', json(200, { partialSuccess: { rejectedSpans } }))
      expect(told, `${rejectedSpans} is no count`).to.contain(said)
    }
    const torn = encodeSuccess('application/x-protobuf', { rejectedSpans: 300, errorMessage: 'cut' }).body.subarray(
      0,
      -2,
    )
    const cut = await sent('spans.received', { status: 200, contentType: 'application/x-protobuf', body: torn })
    expect(cut).to.contain(said)
    // What an endpoint of another kind says.
    const ofSpans = { status: 200, ...encodeSuccess('application/x-protobuf', undefined) }
    for (const type of ['logs.received', 'rum.received'] as const) expect(await sent(type, ofSpans)).to.contain(said)
    expect(await sent('logs.received', json(200, { partialSuccess: {} }))).to.contain(said)
  })

  /** What the other is sent where it answers so, one time after the other. */
  it('is said to wait, and why, once for an event that has to be sent again', async () => {
    const told: string[] = []
    const port = await freePort()
    const answers = [503, 429, 408, 502, 504, 200]
    const send = createSender(`http://127.0.0.1:${port}`, keys, (line) => {
      told.push(line)
      if (told.length === 1) server.listen(port, '127.0.0.1')
    })
    const server = createServer((request, response) => {
      request.resume()
      const headers = { 'Content-Type': 'application/json', 'Retry-After': '0' }
      response.writeHead(answers.shift() ?? 200, headers).end('{"accepted":1}')
    })
    try {
      await send(event('logs.received'))
      answers.push(503)
      await send(event('logs.received'))
    } finally {
      server.close()
    }
    const to = `http://127.0.0.1:${port}/api/logs/v1/ingest`
    expect(told).to.deep.equal([
      `${to} gives no answer (ECONNREFUSED); the event at 4096 is sent again`,
      `${to} answers 503; the event at 4096 is sent again`,
    ])
  })

  it('is said to wait in a line of JSON where the answer is to be one', async () => {
    const answers = [503, 200]
    const server = createServer((request, response) => {
      request.resume()
      response.writeHead(answers.shift() ?? 500, { 'Content-Type': 'application/json', 'Retry-After': '0' })
      response.end('{"accepted":1}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    let told = ''
    const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const io = { env: keys, stderr: { write: (text: string) => (told += text) } }
    const given = { io, options: { 'to-url': to, workspace: 'acme', json: true } } as unknown as VerbContext
    try {
      await withSink(given, async (sink) => {
        await sink.take({ partition: '0', event: event('logs.received') })
        return ok({ json: {}, text: '' })
      })
    } finally {
      server.close()
    }
    expect(JSON.parse(told)).to.deep.equal({
      waiting: `${to}/api/logs/v1/ingest answers 503; the event at 4096 is sent again`,
    })
  })

  async function received(
    answers: readonly number[],
    payload: string,
    path = '',
  ): Promise<readonly [IncomingMessage, Buffer][]> {
    const got: [IncomingMessage, Buffer][] = []
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.once('end', () => {
        got.push([request, Buffer.concat(chunks)])
        const status = answers[got.length - 1] ?? 200
        const headers = {
          'Content-Type': 'application/json',
          'Retry-After': '0',
          Location: '/elsewhere',
        }
        response.writeHead(status, headers).end('{"accepted":1}')
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    try {
      const send = createSender(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, keys)
      await send(event('logs.received', payload)).catch(() => undefined)
      return got
    } finally {
      server.close()
    }
  }

  it('is sent with its key and its id, packed where it is large, at an address with or without a slash', async () => {
    const [[small, body] = []] = await received([], '{"message":"a"}', '//')
    expect([small?.url, body?.toString()]).to.deep.equal([paths['logs.received'], '{"message":"a"}'])
    expect(small?.headers).to.include({
      authorization: 'Bearer lt_x',
      'idempotency-key': 'acme.logs.received.1',
      'content-type': 'application/json',
    })
    expect(small?.headers).not.to.have.property('content-encoding')
    const text = JSON.stringify({ message: 'x'.repeat(1_100_000) })
    const [[large, packed] = []] = await received([], text)
    expect(large?.headers['content-encoding']).to.equal('gzip')
    expect(gunzipSync(packed ?? '').toString() === text).to.equal(true)
  })

  it('is sent again while the other cannot take it, and goes nowhere else', async () => {
    expect(await received([503, 429, 408], '{}')).to.have.length(4)
    for (const status of [307, 500]) expect(await received([status], '{}')).to.have.length(1)
  })

  it('is sent again as soon as the other asks for, but neither at once nor later than in half a minute', () => {
    const after = (seconds: string) => waitMsOf(new Response(null, { headers: { 'Retry-After': seconds } }))
    expect(['2', '0.5', '30', '31', '1e9'].map(after)).to.deep.equal([2_000, 500, 30_000, 30_000, 30_000])
    expect(['0', '-5', ''].map(after)).to.deep.equal([100, 100, 100])
    expect(['Sun, 29 Nov 2026 23:00:00 GMT', 'Infinity'].map(after), 'no number of seconds').to.deep.equal([
      1_000, 1_000,
    ])
    expect([waitMsOf(new Response()), waitMsOf(undefined)], 'nothing is asked for').to.deep.equal([1_000, 1_000])
  })

  it('is given up after thirty times, with where to go on', async () => {
    const asked: number[] = []
    const server = createServer((request, response) => {
      request.resume()
      asked.push(asked.length)
      response.writeHead(asked.length > 30 ? 200 : 503, { 'Retry-After': '0' }).end('{"accepted":1}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    try {
      const send = createSender(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys)
      const failure = await send(event('logs.received')).catch((error: unknown) => String(error))
      expect(failure).to.match(
        /^TransientError: .*\(it answers 503; go on from here when the other takes events: --from 4096\)/,
      )
    } finally {
      server.close()
    }
    expect(asked).to.have.length(30)
  })

  it('needs a key of its kind', async () => {
    for (const url of ['ftp://127.0.0.1', '127.0.0.1:8080', 'http://', 'http://127.0.0.1:99999']) {
      expect(() => createSender(url, keys), url).to.throw('--to-url is an address, http://… or https://…')
    }
    const send = createSender('http://127.0.0.1:1', { ...keys, LOGS_TOKEN: '' })
    const failure = await send(event('logs.received')).catch((error: unknown) => String(error))
    expect(failure).to.contain('set LOGS_TOKEN')
  })

  it('is refused with what the other says', async () => {
    const failure = await sent('logs.received', json(403, { code: 'wrong_key_kind' }))
    expect(failure).to.match(/\(it answers 403: \{"code":"wrong_key_kind"\}\)/)
    const long = await sent('logs.received', { status: 403, contentType: 'text/html', body: 'x'.repeat(1_000) })
    expect(long, 'the beginning of it').to.match(/: x{300}\)/)
  })
})
