import { expect } from 'chai'
import { createHorizon } from '#projections/builds/horizon.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { tracesProjection } from '#projections/traces/fold.ts'

describe('the days of an index that can be compared with what is left of a log', () => {
  const nothing = { freeze: () => Promise.reject(new Error('nothing is read')) }
  const horizonOf = (projection: typeof logsProjection, isCut: boolean) => {
    const first = { position: 7, receivedAt: Date.parse('2026-11-10T23:59:00Z'), isCut }
    return createHorizon({ projection, index: 'one', first, firstDay: () => '2026-11-01', expected: nothing })
  }

  it('begin behind the day of the cut, and the one on which its events may come again', () => {
    const { comparedFrom, isTold } = horizonOf(logsProjection, true)
    expect(comparedFrom).to.deep.equal({ logs: '2026-11-12', seenEvents: '2026-11-12' })
    expect(['2026-11-11', '2026-11-12'].map((day) => isTold('logs', day))).to.deep.equal([false, true])
  })

  it('begin later where a day’s events may be folded into documents of days before', () => {
    expect(horizonOf(tracesProjection, true).comparedFrom).to.include({ traces: '2026-11-18', parts: '2026-11-18' })
  })

  it('are all of a log that was not cut', () => {
    const { comparedFrom, isTold } = horizonOf(logsProjection, false)
    expect([comparedFrom, isTold('logs', '2026-11-02')]).to.deep.equal([undefined, true])
  })
})
