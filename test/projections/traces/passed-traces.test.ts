import { expect } from 'chai'
import { spanIsPassed, traceIsPassed } from '#projections/traces/passed-traces.ts'
import { emptyTrace, type TraceDocument } from '#projections/traces/trace-document.ts'
import { traceIdOf } from './given.ts'

describe('traces: what a walk has passed, by an index of before', () => {
  const trace = emptyTrace(traceIdOf('cart'), '2026-11-21')
  const { replaced: _replaced, startMovedAt: _startMovedAt, ...summary } = trace.summary
  const of = (startNs: string): TraceDocument =>
    ({ ...trace, summary: { ...summary, spanCount: 1, startNs, lastStartNs: startNs, endNs: startNs } }) as never
  const after = { value: '100', id: traceIdOf('there'), since: 1 }

  it('goes by what the trace is now', () => {
    const passed = ['99', '101'].map((startNs) => traceIsPassed('newest')(of(startNs), after))
    expect(passed).to.deep.equal([false, true])
    expect(spanIsPassed('newest')(of('101'), after)).to.equal(false)
  })
})
