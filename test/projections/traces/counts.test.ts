import { expect } from 'chai'
import { searchTraces } from '#projections/traces/query.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore } from './every-store.ts'
import { givenLog, msNs, noonNs, received, traceIdOf } from './given.ts'
import { acme, readerOf } from './walked.ts'

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

  it('are of traces of which a span has come, whatever has named them before', async () => {
    const named = (n: number, trace: string) =>
      givenEvent('logs.received', n, { logs: [givenLog({ traceId: traceIdOf(trace) })] })
    const reader = await readerOf(newStore, [
      named(1, 'a'),
      named(2, 'b'),
      received(3, [{ trace: 'b', id: 1 }]),
      received(4, [
        { trace: 'b', id: 2, service: 'cart' },
        { trace: 'c', id: 3, service: 'cart' },
      ]),
    ])
    const { histogram, facets } = await searchTraces(reader, acme, {
      order: 'newest',
      limit: 1,
      fromNs: noonNs,
      toNs: noonNs + 7_200_000_000_000n,
      include: ['histogram', 'facets'],
    })
    expect(histogram?.step_ms).to.equal(120_000)
    expect(histogram?.buckets.map(({ total, errors }) => [total, errors])).to.deep.equal([[2, 0]])
    const found = facets?.map(({ values }) => values.map(({ value, count }) => [value, count]))
    expect(found?.[0]).to.deep.equal([
      ['cart', 2],
      ['checkout', 1],
    ])
    expect(found?.[2]).to.deep.equal([['logs', 1]])
  })

  it('are of the spans of few traces, where conditions are on both', async () => {
    const reader = await readerOf(newStore, [
      received(1, [
        { trace: 'a', id: 1, status: 'error' },
        { trace: 'a', id: 2, service: 'cart' },
        { trace: 'b', id: 3 },
      ]),
    ])
    const asked = { service: 'checkout', has: ['error'], include: ['histogram', 'facets'] } as const
    const { histogram, facets } = await searchTraces(reader, acme, { order: 'newest', limit: 1, ...asked })
    expect([histogram?.of, histogram?.buckets.map(({ total }) => total)]).to.deep.equal(['spans', [1]])
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
