import { expect } from 'chai'
import type { Json, JsonObject } from '#src/lib/json.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { searchTraces } from '#projections/traces/query.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldIntoStore } from './every-store.ts'
import { givenSpan, noonNs, spanIdOf } from './given.ts'

describeOnEveryStore('traces: the spans of a search that match', (newStore) => {
  const wanted = { name: 'wanted' }
  const others = Array.from({ length: 40 }, (_, n) => ({
    id: `other ${n}`,
    trace: `other ${n}`,
    atMs: 100 + n,
    ...wanted,
  }))
  /** One trace has matching spans before those of all others and behind them, and spans that do not match beyond. */
  const spread = [
    { id: 'early', trace: 'spread', atMs: 50, ...wanted },
    { id: 'late', trace: 'spread', atMs: 200, ...wanted },
    { id: 'first', trace: 'spread', atMs: 0 },
    { id: 'last', trace: 'spread', atMs: 250 },
  ]
  /** One has all its spans at one end, and more than are shown. */
  const near = Array.from({ length: 5 }, (_, n) => ({ id: `near ${n}`, trace: 'near', atMs: 300 + n, ...wanted }))

  for (const [order, expected] of [
    [
      'newest',
      [
        ['near 4', 'near 3', 'near 2'],
        ['late', 'early'],
      ],
    ],
    ['oldest', [['early', 'late'], ['other 0']]],
  ] as const) {
    it(`are the first of each trace, however far apart, ${order} first`, async () => {
      const store = newStore()
      const spans = [...others, ...spread, ...near].map(givenSpan)
      await foldIntoStore(store, tracesProjection, [givenEvent('spans.received', 1, { spans })])
      const { traces } = await searchTraces(store.reader, workspaceIdOf('acme'), {
        operation: 'wanted',
        order,
        limit: 2,
      })
      const ids = expected.map((spans) => spans.map((id) => spanIdOf(id)))
      expect(traces.map(({ matched_spans: spans }) => spans.map(({ span_id: id }) => id))).to.deep.equal(ids)
    })
  }

  it('are no more than three of a trace that has a few more, in an order of traces too', async () => {
    const store = newStore()
    await foldIntoStore(store, tracesProjection, [givenEvent('spans.received', 1, { spans: near.map(givenSpan) })])
    const asked = { operation: 'wanted', order: 'longest', limit: 5 } as const
    const { traces } = await searchTraces(store.reader, workspaceIdOf('acme'), asked)
    expect(traces.map(({ matched_spans: spans }) => spans.length)).to.deep.equal([3])
  })

  it('are named by the beginning of a very long name: a list has six hundred of them', async () => {
    const store = newStore()
    const spans = [givenSpan({ id: 'a', name: 'select '.repeat(1_000) })]
    await foldIntoStore(store, tracesProjection, [givenEvent('spans.received', 1, { spans })])
    const { traces } = await searchTraces(store.reader, workspaceIdOf('acme'), {
      query: { kind: 'text', text: 'select' },
      order: 'newest',
      limit: 2,
    })
    expect(traces[0]?.matched_spans.map(({ operation }) => operation.length)).to.deep.equal([1_024])
  })

  it('say why they failed, as far as a list can bear: by their status, or else by the last of their exceptions', async () => {
    const store = newStore()
    const exception = (attributes: JsonObject, name = 'exception') => ({
      name,
      timeNs: noonNs,
      attributes,
      droppedAttributesCount: 0,
    })
    const said = (message: Json) => exception({ 'exception.type': 'Refused', 'exception.message': message })
    const spans = [
      { id: 'status', atMs: 9, statusMessage: 'declined', spanEvents: [said('not this')] },
      { id: 'exceptions', atMs: 8, spanEvents: [said('the first'), said('the last'), exception({}, 'retry')] },
      { id: 'type', atMs: 7, spanEvents: [said('')] },
      { id: 'long', atMs: 6, statusMessage: 'so long '.repeat(1_000) },
      { id: 'number', atMs: 5, spanEvents: [exception({ 'exception.message': 42 })] },
      { id: 'silent', atMs: 4, status: 'error' as const },
    ].map((span) => givenSpan({ trace: span.id, name: 'wanted', ...span }))
    await foldIntoStore(store, tracesProjection, [givenEvent('spans.received', 1, { spans })])
    const { traces } = await searchTraces(store.reader, workspaceIdOf('acme'), {
      operation: 'wanted',
      order: 'newest',
      limit: 10,
    })
    expect(traces.flatMap(({ matched_spans: found }) => found.map(({ failure }) => failure))).to.deep.equal([
      ...['declined', 'the last', 'Refused', 'so long '.repeat(32)],
      ...[undefined, undefined],
    ])
  })
})
