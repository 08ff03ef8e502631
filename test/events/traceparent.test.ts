import { expect } from 'chai'
import { parseTraceparent } from '#src/events/traceparent.ts'

describe('traceparent', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const spanId = 'b7ad6b7169203331'

  it('gives the ids', () => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).to.deep.equal({ traceId, spanId, sampled: true })
    expect(parseTraceparent(` 00-${traceId}-${spanId}-00\t`)).to.deep.equal({ traceId, spanId, sampled: false })
  })

  it('reads what it knows of a later version', () => {
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01`)?.traceId).to.equal(traceId)
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-the-future-will-be-like`)?.spanId).to.equal(spanId)
  })

  it('ignores what is invalid', () => {
    for (const text of [
      '',
      traceId,
      `ff-${traceId}-${spanId}-01`,
      `00-${traceId}-${spanId}-01-more`,
      `00-${traceId}-${spanId}-01x`,
      `cc-${traceId}-${spanId}-01.more`,
      `00-${traceId.toUpperCase()}-${spanId}-01`,
      `00-${'0'.repeat(32)}-${spanId}-01`,
      `00-${traceId}-${'0'.repeat(16)}-01`,
      `00-${traceId}-${spanId}-1`,
      `0-${traceId}-${spanId}-01`,
    ]) {
      expect(parseTraceparent(text), text).to.equal(undefined)
    }
  })
})
