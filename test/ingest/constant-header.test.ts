import { expect } from 'chai'
import { startIngest, usedSpansOf } from '#test/support/ingest.ts'
import { emptySpan, encodeProtobuf, requestOf } from '#test/support/otlp.ts'

describe('a header that is the same in each request, as senders in Go are told to set', () => {
  const span = (id: string) => ({ ...emptySpan, traceId: id.repeat(32), spanId: id.repeat(16) })
  const [one, other] = ['a', 'b'].map((id) => encodeProtobuf(requestOf([span(id)])))

  for (const header of ['X-Idempotency-Key', 'Idempotency-Key']) {
    it(`${header}: other spans are no retry of the first, and the same are`, async () => {
      const ingest = await startIngest({ plan: { spansPerMonth: 100 } })
      const authorization = `Bearer ${ingest.keys.tracing}`
      const headers = { authorization, 'content-type': 'application/x-protobuf', [header]: '1' }
      for (const body of [one, other, one]) {
        expect((await ingest.post('/api/traces/v1/otlp', body ?? '', headers)).status).to.equal(200)
      }
      expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-11')).to.equal(2)
      await ingest.server.close()
    })
  }
})
