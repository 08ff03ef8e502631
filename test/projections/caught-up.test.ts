import { expect } from 'chai'
import { heartbeatMaxMs, isCaughtUp } from '#projections/index-store.ts'

describe('an index that was level with the log', () => {
  const nowMs = 1_000_000
  const isSaidAt = (at: number): boolean => isCaughtUp({ position: 7, head: 7, at, caughtUpAt: at }, nowMs)

  it('is so only by a heartbeat of now: one of a clock that is hours ahead may be the last', () => {
    expect([0, heartbeatMaxMs, -heartbeatMaxMs].map((ms) => isSaidAt(nowMs + ms))).to.deep.equal([true, true, true])
    expect([heartbeatMaxMs, 3_600_000].map((ms) => isSaidAt(nowMs + ms + 1))).to.deep.equal([false, false])
    expect(isSaidAt(nowMs - heartbeatMaxMs - 1)).to.equal(false)
  })
})
