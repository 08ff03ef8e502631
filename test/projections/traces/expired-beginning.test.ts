import { expect } from 'chai'
import { withFirstDays } from '#projections/retention/first-days.ts'
import type { WalkKey } from '#projections/traces/query.ts'
import { readTrace } from '#projections/traces/read-trace.ts'
import { dayOf } from '#src/lib/day.ts'
import { describeOnEveryStore } from './every-store.ts'
import { received, spanIdOf, traceIdOf } from './given.ts'
import { acme, daysLater, readerOf } from './walked.ts'

describeOnEveryStore('traces: one that goes on after the day on which it began has expired', (newStore) => {
  it('shows nothing of what has expired with that day', async () => {
    const whole = await readerOf(newStore, [
      received(1, [{ id: 'root' }], daysLater(0)),
      received(2, [{ id: 'a', parent: 'root', atMs: 1 }], daysLater(7)),
      received(3, [{ id: 'b', parent: 'a', atMs: 2 }], daysLater(8)),
      received(4, [{ id: 'c', parent: 'b', atMs: 3 }], daysLater(9)),
    ])
    const reader = withFirstDays(whole, () => dayOf(daysLater(1).receivedAt))
    const read = async (limit: number, after?: WalkKey) =>
      readTrace(reader, acme, traceIdOf('t'), { limit, ...(after === undefined ? {} : { after }) })
    for (const limit of [1, 10]) {
      const found: unknown[] = []
      let after: WalkKey | undefined
      do {
        const page = await read(limit, after)
        expect(page?.summary.span_count).to.equal(2)
        found.push(...(page?.spans ?? []).map(({ span_id: id }) => id))
        after = page?.spans_next ?? undefined
      } while (after !== undefined)
      expect(found).to.deep.equal(['b', 'c'].map(spanIdOf))
    }
    const gone = { span_id: spanIdOf('a'), referenced_by: [spanIdOf('b')], reason: 'not_received' }
    expect((await read(10))?.missing).to.deep.equal([gone])
  })
})
