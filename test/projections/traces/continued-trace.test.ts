import { expect } from 'chai'
import type { IndexReader } from '#projections/index-store.ts'
import { placesOfSpan, type WalkKey } from '#projections/traces/query.ts'
import { readTrace } from '#projections/traces/read-trace.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore } from './every-store.ts'
import { givenLog, givenRumEvent, msNs, noonNs, received, spanIdOf, traceIdOf } from './given.ts'
import { acme, daysLater, readerOf } from './walked.ts'

describeOnEveryStore('traces: one that went on after seven days', (newStore) => {
  it('reads a trace that went on after seven days as one', async () => {
    const reader = await readerOf(newStore, [
      received(1, [{ id: 'root' }, { id: 'a', parent: 'root', atMs: 1 }], daysLater(0)),
      received(
        2,
        [
          { id: 'b', parent: 'a', atMs: 1_000 },
          { id: 'a', parent: 'root', atMs: 1 },
        ],
        daysLater(9),
      ),
    ])
    const read = await readTrace(reader, acme, traceIdOf('t'), { limit: 10 })
    expect(read?.spans.map(({ span_id }) => span_id)).to.deep.equal(['root', 'a', 'b'].map(spanIdOf))
    expect(read?.missing).to.deep.equal([])
  })

  it('has of such a trace whatever has named it, earlier and later', async () => {
    const named = { traceId: traceIdOf('t') }
    const reader = await readerOf(newStore, [
      received(1, [{ id: 'a' }], daysLater(0)),
      givenEvent('logs.received', 2, { logs: [givenLog({ ...named, sessionId: 'one' })] }, daysLater(0)),
      received(3, [{ id: 'b' }], daysLater(9)),
      givenEvent('rum.received', 4, { rumEvents: [givenRumEvent({ ...named, sessionId: 'two' })] }, daysLater(9)),
    ])
    const read = await readTrace(reader, acme, traceIdOf('t'), { limit: 10 })
    expect(read?.summary).to.deep.include({ has_logs: true, has_rum: true, session_ids: ['one', 'two'] })
  })

  it('has the sessions of such a trace in the order in which they came, however large it is', async () => {
    const sessions = new Map([
      [2_000, 'one'],
      [10_000, 'two'],
    ])
    const many = Array.from({ length: 10_001 }, (_, id) => ({ id, sessionId: sessions.get(id) ?? null }))
    const reader = await readerOf(newStore, [
      received(1, many, daysLater(0)),
      received(2, [{ id: 'later', sessionId: 'three' }], daysLater(9)),
    ])
    const read = await readTrace(reader, acme, traceIdOf('t'), { limit: 1 })
    expect(read?.summary).to.deep.include({ span_count: 10_002, session_ids: ['one', 'two', 'three'] })
  })

  it('leads to a span of such a trace where it stands by now', async () => {
    const reader = await readerOf(newStore, [
      received(
        1,
        [
          { id: 'a', atMs: 10 },
          { id: 'b', atMs: 20 },
          { id: 'moved', atMs: 50 },
        ],
        daysLater(0),
      ),
      received(2, [{ id: 'moved', atMs: 15 }], daysLater(9)),
    ])
    const asked = { traceId: traceIdOf('t'), spanId: spanIdOf('moved'), limit: 10 }
    const places = await placesOfSpan(reader, acme, asked)
    expect(places.map(({ value }) => (BigInt(value) - noonNs) / msNs)).to.deep.equal([10n])
  })

  it('reads the parts of such a trace once where it is all there', async () => {
    const later = daysLater(9)
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
    const root = { id: 'root' }
    const reader = await readerOf(newStore, [
      received(
        1,
        [root, { id: 'moved', parent: 'root', atMs: 1 }, { id: 'stayed', parent: 'root', atMs: 2 }],
        daysLater(0),
      ),
      received(2, [{ id: 'moved', parent: 'root', atMs: 1 }], daysLater(1)),
      received(
        3,
        [
          { id: 'moved', parent: 'root', atMs: 900, name: 'moved again' },
          { id: 'stayed', parent: 'root', atMs: 2, name: 'stayed again' },
        ],
        daysLater(9),
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
