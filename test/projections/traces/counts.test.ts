import { expect } from 'chai'
import type { IndexReader } from '#projections/index-store.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { searchTraces } from '#projections/traces/query.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldIntoStore, type NewStore } from './every-store.ts'
import { givenSpan, msNs, noonNs, type GivenSpan } from './given.ts'

const acme = workspaceIdOf('acme')
const received = (n: number, spans: readonly GivenSpan[]): DecodedEvent =>
  givenEvent('spans.received', n, { spans: spans.map(givenSpan) })
async function readerOf(newStore: NewStore, events: readonly DecodedEvent[]): Promise<IndexReader> {
  const store = newStore()
  await foldIntoStore(store, tracesProjection, events)
  return store.reader
}

describeOnEveryStore('traces: counts', (newStore) => {
  it('leave out spans that came again with another start', async () => {
    const reader = await readerOf(newStore, [
      received(1, [{ id: 1, atMs: 5 }]),
      received(2, [{ id: 1, atMs: 7, attributes: { again: 1 } }]),
    ])
    const query = { kind: 'not', of: { kind: 'text', text: 'nothing' } } as const
    const { histogram, facets } = await searchTraces(reader, acme, {
      query,
      order: 'newest',
      limit: 1,
      include: ['histogram', 'facets'],
    })
    expect(histogram?.buckets.map(({ time, total }) => [time, total])).to.deep.equal([
      [formatTimeNs(noonNs + 7n * msNs), 1],
    ])
    expect(facets?.[0]?.values).to.deep.equal([{ value: 'checkout', count: 1 }])
  })

  it('are not given where too many traces would have to be asked for each span', async () => {
    const spans = Array.from({ length: 1_001 }, (_, n) => ({ trace: n, id: n, status: 'error' as const }))
    const reader = await readerOf(newStore, [received(1, spans)])
    const request = { order: 'newest', limit: 1, include: ['histogram', 'facets'], has: ['error'] } as const
    const counted = await searchTraces(reader, acme, request)
    expect(counted.histogram?.buckets.map(({ total, errors }) => [total, errors])).to.deep.equal([[1_001, 1_001]])
    const narrowed = await searchTraces(reader, acme, { ...request, service: 'checkout' })
    expect([narrowed.histogram, narrowed.facets]).to.deep.equal([null, null])
    expect(narrowed.traces).to.have.length(1)
  })
})
