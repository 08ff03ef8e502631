import { expect } from 'chai'
import { TransientError } from '#src/lib/failure.ts'
import { startIngest, type Answer, type TestIngest } from '#test/support/ingest.ts'
import { emptySpan, encodeJson, encodeProtobuf, requestOf } from '#test/support/otlp.ts'

describe('spans of a request that holds more than one may', () => {
  let ingest: TestIngest
  beforeEach(async () => {
    ingest = await startIngest({ limits: { recordsPerBatchMax: 3, nodesPerRequestMax: 20 } })
  })
  afterEach(() => ingest.server.close())
  const post = (body: string | Uint8Array, type: string): Promise<Answer> =>
    ingest.post('/api/traces/v1/otlp', body, { 'content-type': type, authorization: `Bearer ${ingest.keys.tracing}` })
  const counted = async () => (await ingest.events()).map(({ type, counts }) => [type, counts.spans, counts.refused])

  const four = requestOf(Array.from({ length: 4 }, () => emptySpan))
  for (const [type, body] of [
    ['application/json', encodeJson(four)],
    ['application/x-protobuf', encodeProtobuf(four)],
  ] as const) {
    it(`are counted once for each request, and not stored, ${type}`, async () => {
      for (const attempt of ['first', 'again']) {
        const answer = await post(body, type)
        expect(answer.status, attempt).to.equal(413)
        expect(answer.text).to.include('more than 3 spans in one request: send smaller batches')
      }
      expect(await counted()).to.deep.equal([['spans.refused', 0, 4]])
      expect(ingest.payloadText((await ingest.events())[0])).to.equal('{"spans":[]}')
    })
  }

  it('are refused only when the log has their count', async () => {
    const lost = new TransientError({ operation: 'append to', subject: 'the log' })
    const down = await startIngest({
      limits: { recordsPerBatchMax: 3 },
      through: (stream) => ({ ...stream, append: () => Promise.reject(lost) }),
    })
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${down.keys.tracing}` }
    expect((await down.post('/api/traces/v1/otlp', encodeJson(four), headers)).status).to.equal(503)
    await down.server.close()
  })

  it('are counted as far as they are read where it is something else that is too much', async () => {
    const attributes = Array.from({ length: 30 }, (_none, index) => [`k${index}`, { string: 'v' }] as const)
    const answer = await post(encodeJson(requestOf([emptySpan, { ...emptySpan, attributes }])), 'application/json')
    expect(answer.status).to.equal(413)
    expect(await counted()).to.deep.equal([['spans.refused', 0, 2]])
  })

  it('are none in a body that cannot be read', async () => {
    expect((await post('{', 'application/json')).status).to.equal(400)
    expect(await counted()).to.deep.equal([])
  })
})

describe('browser events of a request that holds more than one may', () => {
  for (const [what, limits, items] of [
    ['items', { recordsPerBatchMax: 3 }, '{},{},{},{}'],
    ['values', { nodesPerRequestMax: 20 }, `{"list":[${'1,'.repeat(30)}1]},{}`],
  ] as const) {
    it(`are counted once for each body, where it has too many ${what}`, async () => {
      const ingest = await startIngest({ limits })
      const headers = { 'content-type': 'application/json', 'x-api-key': ingest.keys.publishable }
      const body = `{"session_id":"s","events":[${items}]}`
      for (let time = 0; time < 2; time++) {
        expect((await ingest.post('/api/rum/v1/ingest', body, headers)).status).to.equal(413)
      }
      const counted = (await ingest.events()).map(({ type, counts }) => [type, counts.rumEvents, counts.refused])
      expect(counted).to.deep.equal([['rum.received', 0, what === 'items' ? 4 : 2]])
      await ingest.server.close()
    })
  }
})

describe('spans and events of a browser request that is refused whole', () => {
  const traces = (spans: number): string => encodeJson(requestOf(Array.from({ length: spans }, () => emptySpan)))
  const events = (count: number): string => `"events":[${'{"name":"click"},'.repeat(count).slice(0, -1)}]`
  const faro = (spans: number, items: number, meta = '{"session":{"id":"s"}}'): string =>
    `{"meta":${meta},${events(items)},"traces":${traces(spans)}}`
  const many = Array.from({ length: 30 }, (_none, at) => `"k${at}":1`).join()

  for (const [what, limits, body, counted] of [
    ['it has too many spans', { recordsPerBatchMax: 3 }, faro(4, 2), { rum: 2, spans: 4 }],
    ['it has too many of both together', { recordsPerBatchMax: 3 }, faro(2, 2), { rum: 2, spans: 2 }],
    ['it has too many values', { nodesPerRequestMax: 20 }, faro(2, 1, `{${many}}`), { rum: 1, spans: 2 }],
    ['it comes to too much with its meta', { decodedBytesMax: 400 }, faro(1, 2, `{${many}}`), { rum: 2, spans: 1 }],
    ['it is OTLP', { recordsPerBatchMax: 3 }, traces(4), { spans: 4 }],
  ] as const) {
    it(`are all counted once where ${what}`, async () => {
      const ingest = await startIngest({ limits })
      const headers = { 'content-type': 'application/json', 'x-api-key': ingest.keys.publishable }
      for (let time = 0; time < 2; time++) {
        expect((await ingest.post('/api/rum/v1/ingest', body, headers)).status).to.equal(413)
      }
      const refused = (await ingest.events()).map(({ type, counts }) => [type.split('.', 1)[0], counts.refused])
      expect(refused).to.deep.equal(Object.entries(counted))
      await ingest.server.close()
    })
  }
})

describe('more refused spans than an event lists', () => {
  it('are counted all, and the first of them listed', async () => {
    const ingest = await startIngest({ plan: { spansPerMonth: 1 }, limits: { refusedSpansPerEventMax: 2 } })
    const ids = Array.from({ length: 5 }, (_none, index) => `${index + 1}`.repeat(16))
    const spans = ids.map((spanId) => ({ ...emptySpan, traceId: 'a'.repeat(32), spanId }))
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${ingest.keys.tracing}` }
    await ingest.post('/api/traces/v1/otlp', encodeJson(requestOf(spans)), headers)
    const [, refused] = await ingest.events()
    expect(refused?.counts.refused).to.equal(4)
    const listed = (JSON.parse(ingest.payloadText(refused)) as { spans: readonly (readonly string[])[] }).spans
    expect(listed.map(([, spanId]) => spanId)).to.deep.equal(ids.slice(1, 3))
    await ingest.server.close()
  })
})
