import { expect } from 'chai'
import type { Hit } from '#projections/index-store.ts'
import { spanIsPassed, traceIsPassed } from '#projections/traces/passed-traces.ts'
import { sortableTime } from '#projections/traces/sortable-time.ts'
import { emptyTrace, type TraceDocument } from '#projections/traces/trace-document.ts'
import type { TraceOrder } from '#projections/traces/trace-request.ts'
import { spanRecordId } from '#projections/traces/span-document.ts'
import { spanIdOf, traceIdOf } from './given.ts'

/** As it is found after an event at 5. */
const found = (document: TraceDocument): Hit<TraceDocument> => ({
  id: document.traceId,
  day: '2026-11-21',
  timeNs: 0n,
  position: 5,
  sort: { value: 0n, id: document.traceId },
  document,
})

describe('traces: what a walk has passed, by an index of before', () => {
  const trace = emptyTrace(traceIdOf('cart'), '2026-11-21')
  const { replaced: _replaced, startMovedAt: _startMovedAt, ...summary } = trace.summary
  const of = (startNs: string): TraceDocument =>
    ({ ...trace, summary: { ...summary, spanCount: 1, startNs, lastStartNs: startNs, endNs: startNs } }) as never
  const after = { value: '100', id: traceIdOf('there'), since: 1 }

  it('goes by what the trace is now', () => {
    const passed = ['99', '101'].map((startNs) => traceIsPassed('newest')(found(of(startNs)), after))
    expect(passed).to.deep.equal([false, true])
    expect(spanIsPassed('newest')(found(of('101')), after)).to.equal(false)
  })
})

describe('traces: what a walk has passed', () => {
  const trace = emptyTrace(traceIdOf('cart'), '2026-11-21')
  /** Of one span at 100, which was elsewhere until it came again with the event at 5. */
  const moved = (was: Readonly<{ start?: bigint; lastStart?: bigint; end?: bigint; errorCount?: number }>) => {
    const { start = 100n, lastStart = 100n, end = 100n, errorCount = 0 } = was
    const times = { start: sortableTime(start), lastStart: sortableTime(lastStart), end: sortableTime(end) }
    const replaced = { position: 5, errorCount, ...times }
    const now = { startNs: '100', lastStartNs: '100', endNs: '100', startMovedAt: 5 }
    return { ...trace, summary: { ...trace.summary, spanCount: 1, ...now, replaced } }
  }
  const at = (value: number, since = 1, id = traceIdOf('there')) => ({ value: String(value), id, since })

  for (const [order, was, value] of [
    ['newest', { lastStart: 200n }, 150],
    ['oldest', { start: 50n }, 80],
    ['longest', { end: 200n }, 50],
    ['longest', { start: 40n }, 50],
    ['errors', { errorCount: 2 }, 1],
  ] as const satisfies readonly (readonly [TraceOrder, object, number])[]) {
    it(`goes by what the trace was before its spans came again (${order}, ${Object.keys(was).join()})`, () => {
      const isPassed = traceIsPassed(order)
      expect([isPassed(found(moved({})), at(value)), isPassed(found(moved(was)), at(value))]).to.deep.equal([
        false,
        true,
      ])
    })
  }

  it('has passed no trace that moved before it began', () => {
    const was = found(moved({ lastStart: 200n }))
    expect([4, 5].map((since) => traceIsPassed('newest')(was, at(150, since)))).to.deep.equal([true, false])
  })

  it('has passed no trace that it has seen as it is, though readers were not told of it', () => {
    const was = found(moved({ lastStart: 200n }))
    const passed = (seen: Readonly<Record<string, number>>) => traceIsPassed('newest')(was, { ...at(150, 1), seen })
    const other = { '2026-11-20': 9 }
    expect([passed({ '2026-11-21': 5 }), passed({ '2026-11-21': 4 }), passed(other)]).to.deep.equal([false, true, true])
  })

  it('has passed the trace at which it stands', () => {
    for (const order of ['newest', 'oldest'] as const)
      expect(traceIsPassed(order)(found(moved({})), at(100, 1, traceIdOf('cart'))), order).to.equal(true)
  })

  it('has passed a span by where it stood in its order, unless it came again before', () => {
    const was = found(moved({ start: 50n, lastStart: 200n }))
    const id = spanRecordId(0n, traceIdOf('there'), spanIdOf('there'))
    const passed = (order: TraceOrder, value: number, since: number): boolean =>
      spanIsPassed(order)(was, at(value, since, id))
    expect([passed('newest', 150, 4), passed('oldest', 80, 4), passed('newest', 150, 5)]).to.deep.equal([
      true,
      true,
      false,
    ])
  })
})
