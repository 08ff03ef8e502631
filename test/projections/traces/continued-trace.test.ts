import { expect } from 'chai'
import type { IndexReader } from '#projections/index-store.ts'
import { placesOfSpan, readTrace, type WalkKey } from '#projections/traces/query.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore } from './every-store.ts'
import { givenLog, givenRumEvent, msNs, noonNs, spanIdOf, traceIdOf } from './given.ts'
import { acme, readerOf, received } from './walked.ts'

const dayMs = 86_400_000

describeOnEveryStore('traces: one that went on after seven days', (newStore) => {
  it('reads a trace that went on after seven days as one', async () => {
    const at = (days: number) => ({ receivedAt: Number(noonNs / msNs) + days * dayMs })
    const reader = await readerOf(newStore, [
      received(1, [{ id: 'root' }, { id: 'a', parent: 'root', atMs: 1 }], at(0)),
      received(
        2,
        [
          { id: 'b', parent: 'a', atMs: 1_000 },
          { id: 'a', parent: 'root', atMs: 1 },
        ],
        at(9),
      ),
    ])
    const read = await readTrace(reader, acme, traceIdOf('t'), { limit: 10 })
    expect(read?.spans.map(({ span_id }) => span_id)).to.deep.equal(['root', 'a', 'b'].map(spanIdOf))
    expect(read?.missing).to.deep.equal([])
  })

  it('has of such a trace whatever has named it, earlier and later', async () => {
    const at = (days: number) => ({ receivedAt: Number(noonNs / msNs) + days * dayMs })
    const named = { traceId: traceIdOf('t') }
    const reader = await readerOf(newStore, [
      received(1, [{ id: 'a' }], at(0)),
      givenEvent('logs.received', 2, { logs: [givenLog({ ...named, sessionId: 'one' })] }, at(0)),
      received(3, [{ id: 'b' }], at(9)),
      givenEvent('rum.received', 4, { rumEvents: [givenRumEvent({ ...named, sessionId: 'two' })] }, at(9)),
    ])
    const read = await readTrace(reader, acme, traceIdOf('t'), { limit: 10 })
    expect(read?.summary).to.deep.include({ has_logs: true, has_rum: true, session_ids: ['one', 'two'] })
  })

  it('leads to a span of such a trace where it stands by now', async () => {
    const at = (days: number) => ({ receivedAt: Number(noonNs / msNs) + days * dayMs })
    const reader = await readerOf(newStore, [
      received(
        1,
        [
          { id: 'a', atMs: 10 },
          { id: 'b', atMs: 20 },
          { id: 'moved', atMs: 50 },
        ],
        at(0),
      ),
      received(2, [{ id: 'moved', atMs: 15 }], at(9)),
    ])
    const asked = { traceId: traceIdOf('t'), spanId: spanIdOf('moved'), limit: 10 }
    const places = await placesOfSpan(reader, acme, asked)
    expect(places.map(({ value }) => (BigInt(value) - noonNs) / msNs)).to.deep.equal([10n])
  })

  it('reads the parts of such a trace once where it is all there', async () => {
    const later = { receivedAt: Number(noonNs / msNs) + 9 * dayMs }
    const reader = await readerOf(newStore, [
      received(1, [{ id: 'a' }]),
      received(2, [{ id: 'b', parent: 'a' }], later),
    ])
    let asked = 0
    const counting: IndexReader = {
      ...reader,
      search: (scope, query) => {
        if (scope.collection === 'parts') asked++
        return reader.search(scope, query)
      },
    }
    const read = await readTrace(counting, acme, traceIdOf('t'), { limit: 10 })
    expect([read?.spans.length, read?.missing, asked]).to.deep.equal([2, [], 1])
  })

  it('reads each span of such a trace once, as it came last', async () => {
    const at = (days: number) => ({ receivedAt: Number(noonNs / msNs) + days * dayMs })
    const root = { id: 'root' }
    const reader = await readerOf(newStore, [
      received(1, [root, { id: 'moved', parent: 'root', atMs: 1 }, { id: 'stayed', parent: 'root', atMs: 2 }], at(0)),
      received(2, [{ id: 'moved', parent: 'root', atMs: 1 }], at(1)),
      received(
        3,
        [
          { id: 'moved', parent: 'root', atMs: 900, name: 'moved again' },
          { id: 'stayed', parent: 'root', atMs: 2, name: 'stayed again' },
        ],
        at(9),
      ),
    ])
    for (const limit of [1, 2, 3, 10]) {
      const spans: unknown[] = []
      let after: WalkKey | undefined
      for (;;) {
        const read = await readTrace(reader, acme, traceIdOf('t'), { limit, ...(after === undefined ? {} : { after }) })
        spans.push(...(read?.spans ?? []).map(({ name, repeated }) => [name, repeated]))
        expect(read?.summary).to.include({ span_count: 3, repeated_count: 3 })
        after = read?.spans_next ?? undefined
        if (after === undefined) break
      }
      expect(spans, `limit ${limit}`).to.deep.equal([
        ['operation root', 0],
        ['stayed again', 1],
        ['moved again', 2],
      ])
    }
  })
})
