import { expect } from 'chai'
import { withFirstDays } from '#projections/first-days.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { readTrace, type WalkKey } from '#projections/traces/query.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { dayMs, dayOf } from '#src/lib/day.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldIntoStore } from './every-store.ts'
import { givenSpan, msNs, noonNs, spanIdOf, traceIdOf, type GivenSpan } from './given.ts'

const acme = workspaceIdOf('acme')
const noonMs = Number(noonNs / msNs)

describeOnEveryStore('traces: one that goes on after the day on which it began has expired', (newStore) => {
  const received = (days: number, ...spans: readonly GivenSpan[]) =>
    givenEvent('spans.received', days + 1, { spans: spans.map(givenSpan) }, { receivedAt: noonMs + days * dayMs })

  it('shows nothing of what has expired with that day', async () => {
    const store = newStore()
    await foldIntoStore(store, tracesProjection, [
      received(0, { id: 'root' }),
      received(7, { id: 'a', parent: 'root', atMs: 1 }),
      received(8, { id: 'b', parent: 'a', atMs: 2 }),
      received(9, { id: 'c', parent: 'b', atMs: 3 }),
    ])
    const reader = withFirstDays(store.reader, () => dayOf(noonMs + dayMs))
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
