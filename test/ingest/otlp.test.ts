import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect } from 'chai'
import { limits as allLimits, plans } from '#src/config.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'
import { openPayload } from '#src/events/codec.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import type { OtlpContentType } from '#src/wire/otlp/content-type.ts'
import { rawConnection, rawStatus } from '#test/support/http.ts'
import { startIngest, usedSpansOf, type Answer, type TestIngest } from '#test/support/ingest.ts'
import { emptySpan, encodeJson, encodeProtobuf, requestOf, type Any, type MadeSpan } from '#test/support/otlp.ts'
import { fieldsOf, hex, partialOf, path, spansWithIds as spans, textOf } from './otlp-answers.ts'

const withoutId: MadeSpan = { ...emptySpan, traceId: hex(7, 32), spanId: '0'.repeat(16) }

const idsOf = (event: RecordedEvent): string[] =>
  decodeSpans(openPayload(event), event.contentType as OtlpContentType, allLimits).map(({ spanId }) => spanId)
const refusedOf = (event: RecordedEvent | undefined): unknown =>
  event && (JSON.parse(Buffer.from(openPayload(event)).toString('utf8')) as { spans: unknown }).spans

const encodings = [
  ['protobuf', 'application/x-protobuf', encodeProtobuf],
  ['JSON', 'application/json', (request) => Buffer.from(encodeJson(request))],
] as const satisfies readonly (readonly [
  string,
  OtlpContentType,
  (request: ReturnType<typeof requestOf>) => Uint8Array,
])[]

for (const [name, contentType, encode] of encodings) {
  describe(`POST /api/traces/v1/otlp in ${name}`, () => {
    let ingest: TestIngest
    let headers: Record<string, string>
    beforeEach(async () => {
      ingest = await startIngest({ plan: { spansPerMonth: 100 } })
      headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': contentType }
    })
    afterEach(() => ingest.server.close())
    const post = (body: Uint8Array, more: Record<string, string> = {}, at = path): Promise<Answer> =>
      ingest.post(at, body, { ...headers, ...more })
    const send = (count: number, first = 0): Promise<Answer> => post(encode(requestOf(spans(count, first))))

    it('acknowledges what is in the log as it was received', async () => {
      const body = encode(requestOf(spans(3)))
      const answer = await post(body)
      expect(partialOf(answer)).to.equal(undefined)
      expect(answer.text).to.equal(name === 'JSON' ? '{}' : '')
      const [event] = await ingest.events()
      expect(answer.headers.get('throughline-position')).to.equal(`0/${event?.position}`)
      expect(event).to.deep.include({ type: 'spans.received', contentType, keyId: 'key-3', identified: true })
      expect(event?.id).to.match(/^acme\.traces\.[0-9a-f]{32}$/)
      expect(event?.counts).to.deep.equal({ spans: 3, logs: 0, rumEvents: 0, refused: 0, bytes: body.length })
      expect(Buffer.from(openPayload(event as RecordedEvent)).equals(body)).to.equal(true)
    })

    it('takes gzip, a charset, another case, and the address with /v1/traces', async () => {
      const body = encode(requestOf(spans(1)))
      expect(partialOf(await post(gzipSync(body), { 'content-encoding': 'gzip' }))).to.equal(undefined)
      const odd = { 'content-type': `${contentType.toUpperCase()}; charset=UTF-8` }
      expect((await post(encode(requestOf(spans(1, 1))), odd)).headers.get('content-type')).to.equal(contentType)
      expect((await post(encode(requestOf(spans(1, 2))), {}, `${path}/v1/traces`)).status).to.equal(200)
      expect(await ingest.events()).to.have.length(3)
    })

    it('keeps a gzipped body as its sender has packed it, unless spans are cut out of it', async () => {
      const gzip = { 'content-encoding': 'gzip' }
      const body = encode(requestOf(spans(60)))
      const sent = gzipSync(body)
      await post(sent, gzip)
      await post(gzipSync(encode(requestOf(spans(60, 100)))), gzip)
      const [whole, cut] = await ingest.events()
      expect(whole?.encoding).to.equal('gzip')
      expect(Buffer.from(whole?.payload ?? []).equals(sent)).to.equal(true)
      expect(whole?.counts.bytes).to.equal(body.length)
      expect(cut?.encoding).to.equal('zstd')
      expect(idsOf(cut as RecordedEvent)).to.deep.equal(spans(40, 100).map(({ spanId }) => spanId))
    })

    it('keeps a gzipped body unpacked when gzip has made it larger', async () => {
      const body = encode(requestOf(spans(1)))
      const members = [gzipSync(body), ...Array.from({ length: 50 }, () => gzipSync(''))]
      expect((await post(Buffer.concat(members), { 'content-encoding': 'gzip' })).status).to.equal(200)
      const [event] = await ingest.events()
      expect(event?.encoding).to.equal('')
      expect(Buffer.from(event?.payload ?? []).equals(body)).to.equal(true)
    })

    it('takes an empty request as a success and stores nothing', async () => {
      for (const body of [encode([]), Buffer.alloc(0)]) {
        if (body.length === 0 && name === 'JSON') continue
        expect(partialOf(await post(body))).to.equal(undefined)
      }
      expect(await ingest.events()).to.deep.equal([])
    })

    it('counts a retry once, gzip or not, whatever comes in between', async () => {
      const body = encode(requestOf(spans(60)))
      const first = await post(body)
      await send(10, 100)
      const again = await post(gzipSync(body), { 'content-encoding': 'gzip' })
      expect(again.headers.get('throughline-position')).to.equal(first.headers.get('throughline-position'))
      expect(partialOf(again)).to.equal(undefined)
      expect((await ingest.events()).map(({ type }) => type)).to.deep.equal(['spans.received', 'spans.received'])
      expect(partialOf(await send(30, 200))?.rejected).to.equal(0)
      expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-11')).to.equal(100)
    })

    it('rejects a span without ids alone, keeps the others, and records which', async () => {
      const [good, other] = spans(2) as [MadeSpan, MadeSpan]
      const answer = await post(encode(requestOf([good, withoutId, other])))
      expect(partialOf(answer)).to.deep.include({ rejected: 1 })
      expect(partialOf(answer)?.message).to.match(
        /^1 of 3 spans rejected as invalid; the first: span 1, span_id is all zero/,
      )
      const [received, refused] = await ingest.events()
      expect(idsOf(received as RecordedEvent)).to.deep.equal([good.spanId, other.spanId])
      expect(refused).to.deep.include({
        type: 'spans.refused',
        id: `${received?.id}/refused`,
        contentType: 'application/json',
      })
      expect(refused?.counts).to.deep.include({ spans: 0, refused: 1 })
      expect(received?.reservation).to.match(/^[0-9a-f]{32}$/)
      expect(refused).not.to.have.property('reservation')
      expect(refusedOf(refused)).to.deep.equal([[hex(7, 32), '0'.repeat(16), 'rejected_invalid']])
      expect(answer.headers.get('throughline-position')).to.equal(`0/${refused?.position}`)
      const retry = await post(encode(requestOf([good, withoutId, other])))
      expect(partialOf(retry)).to.deep.equal(partialOf(answer))
      expect(retry.headers.get('throughline-position')).to.equal(`0/${refused?.position}`)
      expect(await ingest.events()).to.have.length(2)
    })

    it('rejects none of a batch in which one attribute is nested beyond all use', async () => {
      const deep = (levels: number): Any => (levels === 0 ? {} : { map: [['in', deep(levels - 1)]] })
      const batch = spans(50).map((span, at) => (at === 20 ? { ...span, attributes: [['deep', deep(65)]] } : span))
      expect(partialOf(await post(encode(requestOf(batch as MadeSpan[]))))).to.equal(undefined)
      const [event] = await ingest.events()
      expect(event && idsOf(event)).to.have.length(50)
    })

    it('takes spans in request order up to the allowance, and tells why not more', async () => {
      await send(90)
      const answer = await send(20, 90)
      const partial = partialOf(answer)
      expect(partial?.rejected).to.equal(10)
      expect(partial?.message).to.equal(
        'The monthly span allowance of 100 is used up: 10 of 20 spans rejected. It resets on 2026-12-01 (UTC).',
      )
      const [, received, refused] = await ingest.events()
      expect(idsOf(received as RecordedEvent)).to.deep.equal(spans(10, 90).map(({ spanId }) => spanId))
      expect(refusedOf(refused)).to.deep.equal(
        spans(10, 100).map(({ traceId, spanId }) => [traceId, spanId, 'rejected_allowance']),
      )
      expect(partialOf(await send(20, 90))).to.deep.equal(partial)
      expect(partialOf(await send(90))).to.deep.include({ rejected: 0 })
      expect(partialOf(await send(1, 500))?.rejected).to.equal(1)
      expect(partialOf(await send(1, 500))?.rejected).to.equal(1)
      expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-11')).to.equal(100)
      expect(await ingest.events()).to.have.length(4)
    })

    it('warns at 80 % and at 95 %, rejecting nothing', async () => {
      expect(partialOf(await send(79))).to.equal(undefined)
      expect(partialOf(await send(1, 79))).to.deep.equal({
        rejected: 0,
        message:
          '80 % of the monthly span allowance of 100 is used: 20 spans are left until it resets on 2026-12-01 (UTC).',
      })
      expect(partialOf(await send(1, 79))?.message).to.match(/^80 %/)
      expect(partialOf(await send(14, 80))).to.equal(undefined)
      expect(partialOf(await send(1, 94))?.message).to.match(/^95 % .* 5 spans are left/)
      expect(partialOf(await send(5, 95))).to.equal(undefined)
      expect(partialOf(await send(1, 100))?.rejected).to.equal(1)
    })

    it('warns of the higher mark where one request crosses both', async () => {
      expect(partialOf(await send(96))?.message).to.match(/^95 % .* 4 spans are left/)
      expect(partialOf(await send(1, 96))).to.equal(undefined)
    })

    it('warns also where a span of the request that crosses the mark is invalid', async () => {
      await send(79)
      const [good, bad] = [...spans(1, 79), withoutId]
      const partial = partialOf(await post(encode(requestOf([good, bad] as MadeSpan[]))))
      expect(partial?.rejected).to.equal(1)
      expect(partial?.message).to.match(/^1 of 2 spans rejected as invalid; .*\. 80 % of .* 20 spans are left/)
    })

    it('tells a retry where all of the first stands, also when there is room for what was rejected of it', async () => {
      await send(98)
      const body = encode(requestOf(spans(3, 98)))
      const first = await post(body)
      ingest.directory.setPlan('acme', { ...(plans['pro'] as WorkspacePlan), spansPerMonth: 1_000_000 })
      await send(1, 200)
      const again = await post(body)
      expect(partialOf(again)).to.deep.equal(partialOf(first))
      const refused = (await ingest.events()).find(({ type }) => type === 'spans.refused')
      expect(again.headers.get('throughline-position')).to.equal(`0/${refused?.position}`)
    })

    it('tells a retry of what was rejected whole the same, and records it once, also when there is room for its good spans', async () => {
      await send(100)
      const body = encode(requestOf([...spans(2, 200), withoutId] as MadeSpan[]))
      const first = await post(body)
      expect(partialOf(first)?.rejected).to.equal(3)
      ingest.directory.setPlan('acme', { ...(plans['pro'] as WorkspacePlan), spansPerMonth: 1_000_000 })
      await send(1, 300)
      expect(partialOf(await post(body))).to.deep.equal(partialOf(first))
      expect((await ingest.events()).filter(({ type }) => type === 'spans.refused')).to.have.length(1)
    })

    it('starts anew with the month, in UTC, and follows a change of plan at once', async () => {
      ingest.now.ms = Date.UTC(2026, 11, 1) - 1
      await send(100)
      expect(partialOf(await send(1, 100))?.rejected).to.equal(1)
      ingest.directory.setPlan('acme', { ...(plans['pro'] as WorkspacePlan), spansPerMonth: 102 })
      expect(partialOf(await send(3, 200))?.rejected).to.equal(1)
      ingest.directory.setPlan('acme', { ...(plans['pro'] as WorkspacePlan), spansPerMonth: 50 })
      expect(partialOf(await send(1, 300))?.rejected).to.equal(1)
      ingest.now.ms += 1
      expect(partialOf(await send(40, 400))?.message).to.match(/^80 % .* resets on 2027-01-01/)
      expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-11')).to.equal(102)
      expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-12')).to.equal(40)
    })

    it('stores exactly the allowance whatever is sent at once, each request twice', async () => {
      const requests = Array.from({ length: 30 }, (_none, index) => encode(requestOf(spans(7, index * 7))))
      const answers = await Promise.all([...requests, ...requests].map((body) => post(body)))
      const events = await ingest.events()
      const stored = events.filter(({ type }) => type === 'spans.received').flatMap(idsOf)
      expect(stored).to.have.length(100)
      expect(new Set(stored).size).to.equal(100)
      const rejected = (from: readonly Answer[]): number[] => from.map((answer) => partialOf(answer)?.rejected ?? 0)
      const [first, second] = [rejected(answers.slice(0, 30)), rejected(answers.slice(30))]
      expect(first.reduce((sum, count) => sum + count, 0)).to.equal(110)
      expect(second).to.deep.equal(first)
    })

    const statusOf = (answer: Answer): Readonly<{ code: number; message: string }> => {
      expect(answer.headers.get('content-type')).to.equal(contentType)
      if (name === 'JSON') return answer.json as { code: number; message: string }
      const fields = fieldsOf(answer.body)
      return { code: Number(fields.get(1)), message: textOf(fields.get(2)) }
    }

    it('refuses with google.rpc.Status in the encoding of the request', async () => {
      const body = encode(requestOf(spans(1)))
      const cases: readonly (readonly [Promise<Answer>, number, number, RegExp])[] = [
        [ingest.post(path, body, { 'content-type': contentType }), 401, 16, /tt_/],
        [post(body, { authorization: `Bearer ${ingest.keys.logs}` }), 403, 7, /tracing source token/],
        [post(body, { origin: 'https://shop.example' }), 403, 7, /publishable key/],
        [post(body, { 'content-encoding': 'br' }), 415, 3, /gzip/],
        [post(Buffer.from([0xff, 0xff, 0xff])), 400, 3, /./],
        [post(gzipSync(Buffer.alloc(70_000_000)), { 'content-encoding': 'gzip' }), 413, 3, /200 times larger/],
        [post(body, {}, `${path}/v1/metrics`), 404, 5, /Only traces/],
        [post(body, {}, `${path}/v1/logs`), 404, 5, /\/api\/logs\/v1\/ingest/],
      ]
      for (const [asked, status, code, message] of cases) {
        const answer = await asked
        expect(answer.status).to.equal(status)
        expect(statusOf(answer).code).to.equal(code)
        expect(statusOf(answer).message).to.match(message)
      }
      expect(await ingest.events()).to.deep.equal([])
    })

    it('refuses a plan without tracing', async () => {
      ingest.directory.setPlan('acme', plans['logs-only'] as WorkspacePlan)
      const answer = await send(1)
      expect(answer.status).to.equal(403)
      expect(statusOf(answer)).to.deep.include({ code: 7 })
      expect(statusOf(answer).message).to.contain('tracing')
    })

    it('answers another method with 405, Allow and a Status', async () => {
      const response = await fetch(ingest.server.baseUrl + path, { headers: { 'content-type': contentType } })
      expect(response.status).to.equal(405)
      expect(response.headers.get('allow')).to.equal('POST')
      expect(response.headers.get('content-type')).to.equal(contentType)
    })
  })
}

describe('POST /api/traces/v1/otlp', () => {
  let ingest: TestIngest
  afterEach(() => ingest.server.close())

  it('says what to change to who comes with gRPC, and what it takes to others', async () => {
    ingest = await startIngest()
    const authorization = `Bearer ${ingest.keys.tracing}`
    const grpc = await ingest.post(path, 'x', { authorization, 'content-type': 'application/grpc+proto' })
    expect(grpc.status).to.equal(415)
    expect((grpc.json as { message: string }).message).to.match(/gRPC is not supported.*http\/protobuf/)
    for (const type of ['text/plain', 'application/json; charset=latin1', 'application/x-www-form-urlencoded']) {
      expect((await ingest.post(path, '{}', { authorization, 'content-type': type })).status, type).to.equal(415)
    }
  })

  it('takes gzip and no other packing, whatever other addresses take', async () => {
    ingest = await startIngest()
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/json' }
    const pack = { deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
    for (const [coding, packed] of Object.entries(pack)) {
      const answer = await ingest.post(path, packed('{}'), { ...headers, 'content-encoding': coding })
      expect(answer.status, coding).to.equal(415)
      expect(answer.json, coding).to.deep.include({ code: 3 })
    }
  })

  it('takes every span of a body in which one has a number of thousands of digits', async () => {
    const digits = '9'.repeat(5_000)
    const [odd, ...others] = spans(3)
    const request = encodeJson(requestOf([{ ...(odd as MadeSpan), attributes: [['n', { int: 4_711n }]] }, ...others]))
    ingest = await startIngest()
    const answer = await ingest.post(path, request.replace('"4711"', digits), {
      authorization: `Bearer ${ingest.keys.tracing}`,
      'content-type': 'application/json',
    })
    expect([answer.status, answer.text]).to.deep.equal([200, '{}'])
    expect((await ingest.events()).flatMap(idsOf)).to.deep.equal([0, 1, 2].map((index) => hex(index, 16)))
  })

  it('takes the last of several types, as fetch joins that of an exporter and that of its user', async () => {
    ingest = await startIngest()
    const headers = {
      authorization: `Bearer ${ingest.keys.tracing}`,
      'content-type': 'application/json, application/json',
    }
    const answer = await ingest.post(path, '{}', headers)
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'application/json'])
  })

  it('takes the credential from the environment as SDKs send it, never from the address', async () => {
    ingest = await startIngest()
    const json = { 'content-type': 'application/json' }
    expect(
      (await ingest.post(path, '{}', { ...json, authorization: `Bearer%20${ingest.keys.tracing}` })).status,
    ).to.equal(200)
    expect((await ingest.post(`${path}?key=${ingest.keys.tracing}`, '{}', json)).status).to.equal(401)
  })

  it('refuses an unknown key before the body is there', async () => {
    ingest = await startIngest()
    const raw = await rawConnection(ingest.server.port)
    raw.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    const text = await raw.until((so) => so.includes('"code":16'))
    expect(rawStatus(text)).to.equal(401)
    expect(text, 'closed when the sender has read it').to.match(/^connection: close/im)
    raw.socket.destroy()
  })
})
