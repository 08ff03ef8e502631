import { expect } from 'chai'
import type { IndexReader } from '#projections/index-store.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { searchTraces, type WalkKey } from '#projections/traces/query.ts'
import type { QueryTree } from '#src/events/query-tree.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldIntoStore } from './every-store.ts'
import { givenLog, givenRumEvent, msNs, noonNs, received, spanIdOf, traceIdOf } from './given.ts'
import { acme, daysLater, match, nameOf, readerOf, spansOf, walk } from './walked.ts'

const globex = workspaceIdOf('globex')

describeOnEveryStore('traces: search', (newStore) => {
  let reader: IndexReader

  before(async () => {
    reader = await readerOf(newStore, [
      received(1, [
        ...spansOf('cart', [
          { id: 'root', service: 'web', name: 'GET /cart', atMs: 100, forMs: 900, kind: 'server' },
          {
            id: 'db',
            parent: 'root',
            service: 'db',
            name: 'SELECT',
            kind: 'client',
            atMs: 200,
            forMs: 50,
            status: 'error',
            attributes: { 'db.system': 'postgresql', rows: 7 },
          },
        ]),
        ...spansOf('login', [
          {
            id: 'root',
            service: 'web',
            name: 'POST /login',
            atMs: 300,
            forMs: 20,
            sessionId: 'visit-1',
            resource: { region: 'eu-west' },
          },
          { id: 'auth', parent: 'root', service: 'auth', atMs: 305, forMs: 5, status: 'ok' },
        ]),
        ...spansOf('orphan', [{ id: 'child', parent: 'lost', service: 'db', name: 'SELECT', atMs: 250, forMs: 1 }]),
        ...spansOf('batch', [
          { id: 'root', service: 'worker', name: 'nightly', kind: 'internal', atMs: 50, forMs: 10 },
          ...[1, 2, 3, 4].map((id) => ({ id, parent: 'root', service: 'worker', atMs: 51 + id * 100, forMs: id })),
        ]),
      ]),
      givenEvent('logs.received', 2, {
        logs: [givenLog({ traceId: traceIdOf('cart') }), givenLog({ traceId: traceIdOf('ghost') })],
      }),
      givenEvent('rum.received', 3, {
        rumEvents: [givenRumEvent({ traceId: traceIdOf('orphan'), sessionId: 'visit-2' })],
      }),
      received(4, [{ trace: 'cart', id: 'foreign', service: 'theirs' }], { workspace: 'globex' }),
    ])
  })

  it('lists traces by their start, newest and oldest first, in pages', async () => {
    for (const limit of [1, 2, 3, 10]) {
      expect(await walk(reader, {}, limit)).to.deep.equal(['login', 'orphan', 'cart', 'batch'])
      expect(await walk(reader, { order: 'oldest' }, limit)).to.deep.equal(['batch', 'cart', 'orphan', 'login'])
    }
  })

  it('orders by duration, number of spans and errors', async () => {
    for (const limit of [1, 2, 10]) {
      expect(await walk(reader, { order: 'longest' }, limit)).to.deep.equal(['cart', 'batch', 'login', 'orphan'])
      expect((await walk(reader, { order: 'most_spans' }, limit))[0]).to.equal('batch')
      expect((await walk(reader, { order: 'errors' }, limit))[0]).to.equal('cart')
    }
  })

  it('answers in the fields of the contract', async () => {
    const { traces } = await searchTraces(reader, acme, {
      traceId: traceIdOf('cart'),
      service: 'db',
      order: 'newest',
      limit: 5,
    })
    expect(traces).to.deep.equal([
      {
        trace_id: traceIdOf('cart'),
        root: { span_id: spanIdOf('cart root'), service: 'web', operation: 'GET /cart' },
        root_observed: true,
        start: '2026-11-21T12:00:00.100000000Z',
        end: '2026-11-21T12:00:01.000000000Z',
        duration_ns: '900000000',
        span_count: 2,
        repeated_count: 0,
        error_count: 1,
        missing_parent_count: 0,
        rejected_span_count: 0,
        services: [
          { name: 'db', span_count: 1, error_count: 1 },
          { name: 'web', span_count: 1, error_count: 0 },
        ],
        matched_spans: [
          {
            span_id: spanIdOf('cart db'),
            service: 'db',
            operation: 'SELECT',
            kind: 'client',
            status: 'error',
            start: '2026-11-21T12:00:00.200000000Z',
            duration_ns: '50000000',
          },
        ],
        has_logs: true,
        has_rum: false,
        session_ids: [],
      },
    ])
  })

  it('lists no trace of which no span is stored', async () => {
    expect(await walk(reader, { traceId: traceIdOf('ghost') })).to.deep.equal([])
  })

  it('finds by what a trace has', async () => {
    expect(await walk(reader, { has: ['logs'] })).to.deep.equal(['cart'])
    expect(await walk(reader, { has: ['rum'] })).to.deep.equal(['orphan'])
    expect(await walk(reader, { has: ['error'] })).to.deep.equal(['cart'])
    expect(await walk(reader, { has: ['missing_spans'] })).to.deep.equal(['orphan'])
    expect(await walk(reader, { has: ['missing_spans', 'rum'] })).to.deep.equal(['orphan'])
    expect(await walk(reader, { has: ['missing_spans', 'logs'] })).to.deep.equal([])
    expect(await walk(reader, { sessionId: 'visit-1' })).to.deep.equal(['login'])
    expect(await walk(reader, { sessionId: 'visit-2' })).to.deep.equal(['orphan'])
    expect(await walk(reader, { service: 'db', has: ['logs'] })).to.deep.equal(['cart'])
    expect(await walk(reader, { service: 'db', sessionId: 'visit-2', order: 'longest' })).to.deep.equal(['orphan'])
  })

  it('asks all conditions of one span', async () => {
    expect(await walk(reader, { service: 'db', operation: 'SELECT' })).to.deep.equal(['orphan', 'cart'])
    expect(await walk(reader, { service: 'web', operation: 'SELECT' })).to.deep.equal([])
    expect(await walk(reader, { service: 'web', status: 'error' })).to.deep.equal([])
    expect(await walk(reader, { service: 'db', status: 'error', kind: 'client' })).to.deep.equal(['cart'])
    expect(await walk(reader, { service: 'db', minDurationNs: 10n * msNs })).to.deep.equal(['cart'])
    expect(await walk(reader, { service: 'web', maxDurationNs: 20n * msNs })).to.deep.equal(['login'])
    for (const order of ['newest', 'longest'] as const) {
      expect(await walk(reader, { service: 'worker', maxDurationNs: 4n * msNs, order })).to.deep.equal(['batch'])
      const narrowed = { service: 'db', has: ['logs'], maxDurationNs: 50n * msNs, order } as const
      expect(await walk(reader, narrowed)).to.deep.equal(['cart'])
    }
  })

  it('takes a duration by itself as that of the trace', async () => {
    expect(await walk(reader, { minDurationNs: 400n * msNs })).to.deep.equal(['cart', 'batch'])
    expect(await walk(reader, { maxDurationNs: 20n * msNs })).to.deep.equal(['login', 'orphan'])
    expect(await walk(reader, { minDurationNs: 20n * msNs, maxDurationNs: 20n * msNs })).to.deep.equal(['login'])
  })

  it('orders by the newest and the oldest matching span, in any page size', async () => {
    for (const limit of [1, 2, 10]) {
      const query: QueryTree = { kind: 'not', of: match('db.system', 'x') }
      expect(await walk(reader, { query }, limit)).to.deep.equal(['batch', 'login', 'orphan', 'cart'])
      expect(await walk(reader, { query, order: 'oldest' }, limit)).to.deep.equal(['batch', 'cart', 'orphan', 'login'])
      expect(await walk(reader, { query, order: 'longest' }, limit)).to.deep.equal(['cart', 'batch', 'login', 'orphan'])
    }
  })

  it('shows at most three matching spans, the newest of them', async () => {
    const { traces } = await searchTraces(reader, acme, { service: 'worker', order: 'newest', limit: 5 })
    expect(traces[0]?.matched_spans.map(({ span_id }) => span_id)).to.deep.equal(
      [4, 3, 2].map((id) => spanIdOf(`batch ${id}`)),
    )
  })

  it('keeps to the range, by the start of spans', async () => {
    const at = (ms: number) => noonNs + BigInt(ms) * msNs
    expect(await walk(reader, { fromNs: at(300) })).to.deep.equal(['login', 'batch'])
    expect(await walk(reader, { toNs: at(250) })).to.deep.equal(['cart', 'batch'])
    expect(await walk(reader, { fromNs: at(250), toNs: at(251) })).to.include('orphan')
    expect(await walk(reader, { fromNs: at(301), toNs: at(305) })).to.not.include('login')
    expect(await walk(reader, { service: 'worker', fromNs: at(452) })).to.deep.equal([])
    expect(await walk(reader, { service: 'db', fromNs: at(200), toNs: at(250) })).to.deep.equal(['cart'])
    expect(await walk(reader, { service: 'web', fromNs: at(100), toNs: at(101), order: 'longest' })).to.deep.equal([
      'cart',
    ])
  })

  it('lists by the start of spans also a trace that began days before the range, and none with spans only around it', async () => {
    const hourMs = 3_600_000
    const at = (hours: number) => noonNs + BigInt(hours * hourMs) * msNs
    const spread = await readerOf(newStore, [
      received(1, [
        ...spansOf('skewed', [
          { id: 1, atMs: -50 * hourMs, service: 'browser' },
          { id: 2, parent: 1, atMs: 0 },
        ]),
        ...spansOf('around', [
          { id: 1, atMs: -2 * hourMs },
          { id: 2, parent: 1, atMs: 2 * hourMs },
        ]),
        ...spansOf('through', [
          { id: 1, atMs: -2 * hourMs },
          { id: 2, parent: 1, atMs: 1 },
          { id: 3, parent: 1, atMs: 2 * hourMs },
        ]),
        ...spansOf('within', [{ id: 1, atMs: 5 }]),
      ]),
    ])
    const range = { fromNs: at(-1), toNs: at(1) }
    for (const limit of [1, 2, 10]) {
      expect(await walk(spread, range, limit)).to.deep.equal(['within', 'through', 'skewed'])
      expect(await walk(spread, { ...range, order: 'oldest' }, limit)).to.deep.equal(['skewed', 'through', 'within'])
      expect((await walk(spread, { ...range, order: 'most_spans' }, limit))[0]).to.equal('through')
      expect(await walk(spread, { ...range, order: 'longest' }, limit)).to.deep.equal(['skewed', 'through', 'within'])
      expect(await walk(spread, { ...range, service: 'checkout' }, limit)).to.have.members([
        'within',
        'through',
        'skewed',
      ])
    }
  })

  it('never answers from another workspace', async () => {
    expect(await walk(reader, { service: 'theirs' })).to.deep.equal([])
    const { traces } = await searchTraces(reader, globex, { order: 'newest', limit: 10 })
    expect(traces.map(({ span_count }) => span_count)).to.deep.equal([1])
  })

  it('counts over time and by value', async () => {
    const include = ['histogram', 'facets'] as const
    const toNs = noonNs + 10_000n * msNs
    const request = { order: 'newest', limit: 1, include, fromNs: noonNs, toNs } as const
    const ofTraces = await searchTraces(reader, acme, request)
    const buckets = ofTraces.histogram?.buckets ?? []
    expect([ofTraces.histogram?.of, ofTraces.histogram?.step_ms]).to.deep.equal(['traces', 100])
    expect(buckets.reduce((sum, { total }) => sum + total, 0)).to.equal(4)
    expect(ofTraces.facets?.map(({ field }) => field)).to.deep.equal(['service', 'operation', 'has'])
    const ofSpans = await searchTraces(reader, acme, { ...request, service: 'db' })
    const total = ofSpans.histogram?.buckets.map((bucket) => [bucket.total, bucket.errors])
    expect(ofSpans.histogram?.of).to.equal('spans')
    expect(total?.flat().reduce((sum, count) => sum + count, 0)).to.equal(3)
    const operation = ofSpans.facets?.find(({ field }) => field === 'operation')
    expect(operation?.values).to.deep.equal([{ value: 'SELECT', count: 2 }])
    const neither = await searchTraces(reader, acme, { order: 'newest', limit: 1 })
    expect(neither).not.to.have.any.keys('histogram', 'facets')
  })
})

describeOnEveryStore('traces: a walk while spans arrive', (newStore) => {
  const first = Array.from({ length: 12 }, (_, i) => i)

  for (const conditions of [{}, { service: 'checkout' }] as const) {
    for (const order of ['newest', 'oldest'] as const) {
      it(`lists nothing twice and misses nothing that stays where it is (${order}, ${JSON.stringify(conditions)})`, async () => {
        const store = newStore()
        const spans = first.flatMap((i) => spansOf(`walk ${i}`, [{ id: 'a', parent: 'root', atMs: i * 10 }]))
        await foldIntoStore(store, tracesProjection, [received(1, spans)])
        const listed: string[] = []
        let after: WalkKey | undefined
        for (let page = 0; page < 50; page++) {
          const request = { ...conditions, order, limit: 3, ...(after === undefined ? {} : { after }) }
          const { traces, next } = await searchTraces(store.reader, acme, request)
          listed.push(...traces.map(nameOf))
          if (next === null) break
          after = next
          // Every listed trace gets a root that began before, and one that ends later: it moves both ways.
          const moved = listed.flatMap((name) =>
            spansOf(name, [
              { id: 'root', atMs: -page },
              { id: `b${page}`, parent: 'root', atMs: 500 + page },
            ]),
          )
          await foldIntoStore(store, tracesProjection, [received(page + 2, moved)])
        }
        expect(listed).to.have.length(new Set(listed).size)
        expect(new Set(listed).size).to.equal(first.length)
      })
    }
  }

  it('goes on from page to page with what the index held at its beginning', async () => {
    const reader = await readerOf(
      newStore,
      [1, 2, 3].map((i) => received(i, spansOf(`walk ${i}`, [{ id: 'a', atMs: i }]))),
    )
    let position = 9
    const growing: IndexReader = {
      ...reader,
      progress: async () => ({ index: 'traces', after: 0, position: position++, head: 12, at: 0, caughtUpAt: 0 }),
    }
    const { next } = await searchTraces(growing, acme, { order: 'newest', limit: 1 })
    const after = present(next, 'the next page')
    const later = await searchTraces(growing, acme, { order: 'newest', limit: 1, after })
    expect([after.since, later.next?.since]).to.deep.equal([9, 9])
  })

  it('lists no trace again whose span came again at a place that is still to come', async () => {
    for (const conditions of [{}, { service: 'checkout' }] as const) {
      for (const [order, atMs] of [
        ['newest', -5],
        ['oldest', 50],
      ] as const) {
        const store = newStore()
        const spans = [1, 2, 3].flatMap((i) => spansOf(`walk ${i}`, [{ id: 'a', atMs: i * 10 }]))
        await foldIntoStore(store, tracesProjection, [received(1, spans)])
        const { traces, next } = await searchTraces(store.reader, acme, { ...conditions, order, limit: 1 })
        const [first = ''] = traces.map(nameOf)
        await foldIntoStore(store, tracesProjection, [received(2, spansOf(first, [{ id: 'a', atMs }]))])
        const rest = await walk(store.reader, { ...conditions, order, after: present(next, 'the next page') }, 1)
        expect([rest.length, rest.includes(first)], order).to.deep.equal([2, false])
      }
    }
  })

  it('shows each matching span once, beside a trace that has very many', async () => {
    const giant = Array.from({ length: 30 }, (_, id) => ({ id, atMs: id }))
    const reader = await readerOf(newStore, [
      received(1, [...spansOf('giant', giant), ...spansOf('small', [{ id: 'last', atMs: 40 }])]),
    ])
    const { traces } = await searchTraces(reader, acme, { order: 'longest', limit: 5, service: 'checkout' })
    expect(traces.map(({ matched_spans: spans }) => spans.length)).to.deep.equal([3, 1])
  })

  it('names so many of the sessions of a trace, be they of its spans or of what names it', async () => {
    const sessions = Array.from({ length: 80 }, (_, id) => ({ id, sessionId: `visit ${id}` }))
    const logs = sessions.map(({ id }) =>
      givenLog({ ordinal: id, traceId: traceIdOf('busy'), sessionId: `call ${id}` }),
    )
    const reader = await readerOf(newStore, [
      received(1, spansOf('busy', sessions)),
      givenEvent('logs.received', 2, { logs }),
    ])
    const { traces } = await searchTraces(reader, acme, { order: 'newest', limit: 1 })
    expect(traces[0]?.session_ids).to.have.length(100)
  })

  it('shows a span that came again once, as it came last', async () => {
    const of = (atMs: number) => spansOf('again', [{ id: 'a', atMs, service: `at ${atMs}` }])
    const reader = await readerOf(newStore, [received(1, of(1)), received(2, of(2))])
    const query: QueryTree = { kind: 'not', of: match('x', 'y') }
    const { traces } = await searchTraces(reader, acme, { order: 'newest', limit: 5, query })
    expect(traces.map(({ matched_spans: spans }) => spans.map(({ service }) => service))).to.deep.equal([['at 2']])
  })

  it('misses no trace that grows at its end and stays where it is', async () => {
    for (const order of ['newest', 'oldest', 'errors'] as const) {
      const store = newStore()
      const spans = first.flatMap((i) => spansOf(`walk ${i}`, [{ id: 'a', atMs: i * 10 }]))
      await foldIntoStore(store, tracesProjection, [received(1, spans)])
      const { traces, next } = await searchTraces(store.reader, acme, { order, limit: 3 })
      const more = first.flatMap((i) => spansOf(`walk ${i}`, [{ id: 'b', parent: 'a', atMs: 500 }]))
      await foldIntoStore(store, tracesProjection, [received(2, more)])
      const rest = await walk(store.reader, { order, after: present(next, 'the next page') }, 3)
      expect([...traces.map(nameOf), ...rest], order).to.have.length(first.length)
    }
  })

  it('walks past a trace with very many matching spans', async () => {
    const giant = Array.from({ length: 2_500 }, (_, i) => ({ id: i, atMs: 1_000 + i }))
    const reader = await readerOf(newStore, [
      received(1, spansOf('giant', giant)),
      received(
        2,
        ['x', 'y', 'z'].flatMap((name, i) => spansOf(name, [{ id: 1, atMs: i }])),
      ),
    ])
    for (const limit of [1, 2]) {
      expect(await walk(reader, { service: 'checkout' }, limit)).to.deep.equal(['giant', 'z', 'y', 'x'])
    }
  })
})

describeOnEveryStore('traces: a trace that goes on for long', (newStore) => {
  it('lists a trace that went on after seven days as one', async () => {
    const b = { id: 'b', parent: 'a', atMs: 1_000 }
    const between = ['short', 'shorter', 'shortest']
    const reader = await readerOf(newStore, [
      received(1, spansOf('long', [{ id: 'root' }, b]), daysLater(0)),
      received(
        2,
        between.flatMap((name, i) => spansOf(name, [{ id: 'x', atMs: 500 - i }])),
        daysLater(1),
      ),
      received(3, spansOf('long', [b, { id: 'c', parent: 'b', atMs: 1_001 }]), daysLater(9)),
    ])
    for (const limit of [1, 2, 10]) {
      expect(await walk(reader, {}, limit)).to.deep.equal(['long', ...between])
      expect(await walk(reader, { order: 'oldest' }, limit)).to.deep.equal(['long', ...between.toReversed()])
      expect(await walk(reader, { service: 'checkout' }, limit)).to.deep.equal(['long', ...between])
      expect((await walk(reader, { order: 'most_spans' }, limit))[0]).to.equal('long')
    }
    const { traces } = await searchTraces(reader, acme, { order: 'oldest', limit: 1 })
    expect(traces[0]).to.include({ span_count: 3, repeated_count: 1, missing_parent_count: 1 })
  })

  it('lists such a trace in each order if one of its documents is in the range and another meets the conditions', async () => {
    const reader = await readerOf(newStore, [
      received(1, spansOf('long', [{ id: 'a', service: 'web' }]), daysLater(0)),
      received(2, spansOf('long', [{ id: 'b', parent: 'a', atMs: 9_000, status: 'error' }]), daysLater(9)),
    ])
    const conditions = { service: 'web', has: ['error'], toNs: noonNs + 5_000n * msNs } as const
    for (const order of ['newest', 'oldest', 'longest', 'most_spans', 'errors'] as const)
      expect(await walk(reader, { ...conditions, order }), order).to.deep.equal(['long'])
  })

  it('lists no such trace that only one of its documents would meet the conditions', async () => {
    const failed = { id: 'b', parent: 'a', atMs: 1 }
    const spans = (name: string): ReturnType<typeof spansOf> => spansOf(name, [{ ...failed, status: 'error' }])
    const reader = await readerOf(newStore, [
      received(1, [...spans('long'), ...spans('short')], daysLater(0)),
      received(2, spansOf('long', [failed, { id: 'a', forMs: 5_000 }]), daysLater(9)),
    ])
    for (const limit of [1, 10]) {
      for (const order of ['newest', 'oldest', 'longest'] as const) {
        for (const spanConditions of [{}, { kind: 'server' }] as const) {
          const conditions = { ...spanConditions, order }
          expect(await walk(reader, conditions, limit)).to.have.members(['long', 'short'])
          expect(await walk(reader, { ...conditions, has: ['error'] }, limit)).to.deep.equal(['short'])
          expect(await walk(reader, { ...conditions, has: ['missing_spans'] }, limit)).to.deep.equal(['short'])
        }
        expect(await walk(reader, { order, maxDurationNs: 1_000n * msNs }, limit)).to.deep.equal(['short'])
        expect(await walk(reader, { order, minDurationNs: 5_000n * msNs }, limit)).to.deep.equal(['long'])
      }
    }
  })
})
