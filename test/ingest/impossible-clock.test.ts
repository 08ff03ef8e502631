import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { startIngest, type TestIngest } from '#test/support/ingest.ts'
import { encodeProtobuf, requestOf } from '#test/support/otlp.ts'
import { path as otlpPath, spansWithIds } from './otlp-answers.ts'

describe('a clock that was set back to a time before this program, while requests are taken in', () => {
  let ingest: TestIngest
  beforeEach(async () => {
    ingest = await startIngest()
  })
  afterEach(() => ingest.server.close())

  const json = { 'content-type': 'application/json' }
  const surfaces = [
    ['logs', '/api/logs/v1/ingest', () => '{"message":"paid"}', 200, json],
    ['rum', '/api/rum/v1/ingest', () => '{"session_id":"s","events":[{"type":"click"}]}', 202, json],
    [
      'otlp',
      otlpPath,
      () => encodeProtobuf(requestOf(spansWithIds(2))),
      200,
      { 'content-type': 'application/x-protobuf' },
    ],
  ] as const
  for (const [name, path, body, accepted, headers] of surfaces) {
    it(`makes senders come again, and files nothing under that day: ${name}`, async () => {
      const { publishable, logs, tracing } = ingest.keys
      const key = { logs, rum: publishable, otlp: tracing }[name]
      const post = () => ingest.post(path, body(), { ...headers, authorization: `Bearer ${key}` })
      const right = ingest.now.ms
      for (const wrong of [60_000, limits.clockMinMs - 1]) {
        ingest.now.ms = wrong
        const refused = await post()
        expect(refused.status).to.equal(503)
        expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 4)
        expect(await ingest.events()).to.deep.equal([])
      }
      ingest.now.ms = right
      expect((await post()).status).to.equal(accepted)
      expect((await ingest.events()).map(({ receivedAt }) => receivedAt)).to.deep.equal([right])
    })
  }
})
