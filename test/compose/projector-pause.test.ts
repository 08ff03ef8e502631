import { expect } from 'chai'
import { pauseAfter } from '#src/compose/threads/projector.ts'

describe('a projector that ends', () => {
  it('is started again after a second, and ever later while it ends at once', () => {
    let pauseMs = 0
    const pauses = Array.from({ length: 6 }, () => (pauseMs = pauseAfter(pauseMs, 200)))
    expect(pauses).to.deep.equal([1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
  })

  it('is started again after a second when it had lived for long', () => {
    expect([10_000, 10_001].map((livedMs) => pauseAfter(8_000, livedMs))).to.deep.equal([10_000, 1_000])
  })
})
