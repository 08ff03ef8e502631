import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { correlationProjection } from '#projections/correlation/fold.ts'
import type { LinkDocument } from '#projections/correlation/link-document.ts'
import type { RumEventDocument } from '#projections/correlation/rum-event-document.ts'
import type { Collection } from '#projections/projection.ts'
import { rowOf, shapeOf } from '#projections/stores/row.ts'
import { sentinel, words } from '#src/events/tokens.ts'
import { createFoldHarness, givenEvent } from '#test/support/fold-harness.ts'
import { givenLog, givenRumEvent, givenSpan, noonNs, traceIdOf } from '../traces/given.ts'

const harness = createFoldHarness(correlationProjection)

describe('correlation: the fold', () => {
  it('keeps every browser event', async () => {
    const rumEvents = [
      givenRumEvent({ sessionId: 'one', trace: 't', fields: { button: 'pay' }, url: 'https://shop.example/cart' }),
      givenRumEvent({ ordinal: 1, type: 'measurement', name: 'web-vitals', fields: { lcp: 1.5 } }),
    ]
    const store = await harness.fold([
      givenEvent('rum.received', 1, { rumEvents }),
      givenEvent('rum.received', 2, { rumEvents }),
    ])
    const kept = [...harness.documents<RumEventDocument>(store, 'rumEvents').values()]
    expect(kept).to.have.length(4)
    expect(kept[0]).to.deep.equal({
      timeNs: noonNs.toString(),
      type: 'event',
      name: 'click',
      service: 'shop',
      sessionId: 'one',
      traceId: traceIdOf('t'),
      url: 'https://shop.example/cart',
      fields: { button: 'pay' },
    })
  })

  it('has an event found by its name and its address, each by itself, and by its name alone where it has no address', async () => {
    const rumEvents = [givenRumEvent({ url: '/cart' }), givenRumEvent({ ordinal: 1, url: null })]
    const store = await harness.fold([givenEvent('rum.received', 1, { rumEvents })])
    const found = store
      .dump(buildName(correlationProjection, 1))
      .filter(({ entry }) => entry.collection === 'rumEvents')
    const collection = correlationProjection.collections['rumEvents'] as Collection
    const texts = found.map(({ entry }) => rowOf(shapeOf(collection), collection, entry).tokens.get('message'))
    expect(texts).to.have.members([`click ${sentinel} ${words('/cart').join(' ')}`, 'click'])
  })

  it('links a session and a trace that one record names, once for each kind of record and day', async () => {
    const at = (ms: number) => noonNs + BigInt(ms) * 1_000_000n
    const nextDay = { receivedAt: Date.UTC(2026, 10, 22) }
    const store = await harness.fold([
      givenEvent('spans.received', 1, {
        spans: [
          givenSpan({ id: 'a', sessionId: 'one', atMs: 5 }),
          givenSpan({ id: 'b', sessionId: 'one', atMs: 1 }),
          givenSpan({ id: 'c' }),
        ],
      }),
      givenEvent('logs.received', 2, {
        logs: [givenLog({ trace: 't', sessionId: 'one' }), givenLog({ trace: 't' }), givenLog({ sessionId: 'one' })],
      }),
      givenEvent('rum.received', 3, {
        rumEvents: [givenRumEvent({ trace: 't', sessionId: 'two' })],
        spans: [givenSpan({ id: 'd', sessionId: 'one', atMs: -9 })],
      }),
      givenEvent('logs.received', 4, { logs: [givenLog({ trace: 't', sessionId: 'one' })] }, nextDay),
    ])
    const links = store.dump(buildName(correlationProjection, 1)).filter(({ entry }) => entry.collection === 'links')
    expect(links.map(({ entry }) => [entry.day, entry.document as LinkDocument])).to.deep.equal([
      ['2026-11-21', { sessionId: 'one', traceId: traceIdOf('t'), by: 'log', timeNs: noonNs.toString() }],
      ['2026-11-21', { sessionId: 'two', traceId: traceIdOf('t'), by: 'rum_event', timeNs: noonNs.toString() }],
      ['2026-11-21', { sessionId: 'one', traceId: traceIdOf('t'), by: 'span', timeNs: at(5).toString() }],
      ['2026-11-22', { sessionId: 'one', traceId: traceIdOf('t'), by: 'log', timeNs: noonNs.toString() }],
    ])
  })
})
