import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { sortableTime } from '#projections/traces/sortable-time.ts'
import { isSuperseded, type SpanRecord } from '#projections/traces/span-document.ts'
import type { TraceDocument } from '#projections/traces/trace-document.ts'
import { formerStartsMax, refusedKeptMax, spansIn, type TracePart } from '#projections/traces/trace-part.ts'
import type { MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { positionStep } from '#src/events/envelope.ts'
import { present } from '#src/lib/assert.ts'
import { createFoldHarness, foldAll, givenEvent } from '#test/support/fold-harness.ts'
import {
  givenLog,
  givenRumEvent,
  givenSpan,
  noonNs,
  received,
  refused,
  spanIdOf,
  traceIdOf,
  type GivenSpan,
} from './given.ts'

const harness = createFoldHarness(tracesProjection)
const dayMs = 86_400_000
const noonMs = Number(noonNs / 1_000_000n)

const trace = (store: MemoryIndexStore, name = 't'): TraceDocument =>
  present(harness.documents<TraceDocument>(store, 'traces').get(traceIdOf(name)), `trace ${name}`)
const parts = (store: MemoryIndexStore): readonly TracePart[] => [
  ...harness.documents<TracePart>(store, 'parts').values(),
]
const storedSpans = (store: MemoryIndexStore) =>
  [...harness.documents<SpanRecord>(store, 'spans').values()].filter((span) => !isSuperseded(span))

describe('traces: the fold', () => {
  it('sums a trace up from all its services, whatever the order of arrival', async () => {
    const store = await harness.fold([
      received(1, [
        { id: 'db', parent: 'api', service: 'db', atMs: 2, forMs: 30, status: 'error', sessionId: 'visit-1' },
        { id: 'api', parent: 'web', service: 'api', atMs: 1, forMs: 3 },
      ]),
      received(2, [
        { id: 'web', service: 'web', name: 'GET /cart' },
        { id: 'api 2', parent: 'web', service: 'api' },
      ]),
    ])
    const { summary } = trace(store)
    expect(summary).to.deep.equal({
      spanCount: 4,
      repeatedCount: 0,
      errorCount: 1,
      startNs: noonNs.toString(),
      endNs: (noonNs + 32_000_000n).toString(),
      lastStartNs: (noonNs + 2_000_000n).toString(),
      services: [
        { name: 'api', spanCount: 2, errorCount: 0 },
        { name: 'db', spanCount: 1, errorCount: 1 },
        { name: 'web', spanCount: 1, errorCount: 0 },
      ],
      root: { spanId: spanIdOf('web'), service: 'web', operation: 'GET /cart', startNs: noonNs.toString() },
      missingParentCount: 0,
      rejectedSpanCount: 0,
      sessions: ['visit-1'],
      partCount: 1,
      startMovedAt: 2 * positionStep,
      replaced: null,
    })
  })

  it('makes no root up and counts each missing parent once', async () => {
    const store = await harness.fold([
      received(1, [
        { id: 'a', parent: 'gone' },
        { id: 'b', parent: 'gone' },
        { id: 'c', parent: 'also gone' },
        { id: 'itself', parent: 'itself' },
      ]),
    ])
    expect(trace(store).summary).to.include({ root: null, missingParentCount: 2, spanCount: 4 })
  })

  it('takes the earliest of several roots, and the lesser id of two at once', async () => {
    const [lesser] = [spanIdOf('a'), spanIdOf('b')].sort()
    for (const ids of [
      ['a', 'b'],
      ['b', 'a'],
    ]) {
      const atOnce = ids.map((id) => ({ id, atMs: 1 }))
      const store = await harness.fold([received(1, [{ id: 'late', atMs: 5 }, ...atOnce])])
      expect(trace(store).summary.root?.spanId).to.equal(lesser)
    }
  })

  it('names of many services the largest, by name where they are alike, and so many sessions', async () => {
    const spans = Array.from({ length: 250 }, (_, id) => ({ id, service: `s${999 - id}`, sessionId: `visit ${id}` }))
    const { summary } = trace(await harness.fold([received(1, [...spans, { id: 'more', service: 's999' }])]))
    const names = summary.services.map(({ name }) => name)
    expect([names.length, ...names.slice(0, 3)]).to.deep.equal([200, 's999', 's750', 's751'])
    expect([summary.sessions.length, summary.sessions[0]]).to.deep.equal([100, 'visit 0'])
  })

  it('counts a parent that is missing once, however many parts name it, and each trace by its own parts', async () => {
    const many = (name: string, parent: string): GivenSpan[] =>
      Array.from({ length: 1_500 }, (_, id) => ({ id: `${name} ${id}`, parent }))
    for (const name of ['a', 'b']) {
      const store = await harness.fold([received(1, many(name, 'a 0'))])
      // Of the first it is one of its own spans.
      expect(trace(store).summary).to.include({ partCount: 2, missingParentCount: name === 'a' ? 0 : 1 })
    }
  })

  it('counts a span that comes again as repeated, and keeps its last version only', async () => {
    const store = await harness.fold([
      received(1, [{ id: 'root' }, { id: 'a', parent: 'root', status: 'error' }, { id: 'b', parent: 'root' }]),
      received(2, [
        { id: 'a', parent: 'b', service: 'other', atMs: 7 },
        { id: 'b', parent: 'root' },
      ]),
      received(3, [
        { id: 'b', parent: 'nowhere' },
        { id: 'b', parent: 'root', name: 'the last' },
      ]),
    ])
    const { summary } = trace(store)
    expect(summary).to.include({ spanCount: 3, repeatedCount: 4, errorCount: 0, missingParentCount: 0 })
    expect(summary.services.map(({ name }) => name)).to.deep.equal(['checkout', 'other'])
    const stored = storedSpans(store)
    expect(stored).to.have.length(3)
    expect(stored.find((span) => !isSuperseded(span) && span.name === 'the last')).to.include({
      spanId: spanIdOf('b'),
    })
  })

  it('keeps a span that comes again on another day once', async () => {
    const nextDay = { receivedAt: noonMs + dayMs }
    const store = await harness.fold([received(1, [{ id: 'a' }]), received(2, [{ id: 'a', name: 'again' }], nextDay)])
    const spans = store.dump(buildName(tracesProjection, 1)).filter(({ entry }) => entry.collection === 'spans')
    expect(spans.map(({ entry }) => [entry.day, (entry.document as { name: string }).name])).to.deep.equal([
      ['2026-11-22', 'again'],
    ])
  })

  it('lets a span that came back to a former start be found again', async () => {
    const store = await harness.fold([
      received(1, [{ id: 'a', atMs: 1 }]),
      received(2, [{ id: 'a', atMs: 2 }]),
      received(3, [{ id: 'a', atMs: 1, name: 'back' }]),
    ])
    const all = [...harness.documents<SpanRecord>(store, 'spans').values()]
    expect(all.map((span) => (isSuperseded(span) ? 'superseded' : span.name)).sort()).to.deep.equal([
      'back',
      'superseded',
    ])
  })

  it('holds the services and sessions of spans that come again with ever other ones', async () => {
    const spans = (n: number): GivenSpan[] =>
      Array.from({ length: 1_000 }, (_, id) => ({
        id,
        service: `service ${n} of ${id}`,
        sessionId: `visit ${n} of ${id}`,
      }))
    const store = await foldAll(
      tracesProjection,
      [0, 1, 2, 3, 4, 5].map((n) => received(n + 1, spans(n))),
    )
    const { spanCount, services, sessions } = trace(store).summary
    expect([spanCount, services[0]?.name, services.length]).to.deep.equal([1_000, 'service 5 of 0', 200])
    expect(sessions).to.deep.equal(Array.from({ length: 100 }, (_, id) => `visit 5 of ${id}`))
    const [part] = parts(store)
    for (const texts of [part?.services, part?.sessions]) expect(texts?.length).to.be.at.most(4_096)
  })

  it('only counts a span that comes again with ever other starts, once it has had enough of them', async () => {
    const starts = Array.from({ length: 40 }, (_, n) => received(n + 1, [{ id: 1, atMs: n, name: `version ${n}` }]))
    const store = await harness.fold([...starts, received(41, [{ id: 1, atMs: 3, name: 'version 3 again' }])])
    expect(storedSpans(store)).to.have.length(1)
    expect(storedSpans(store)[0]).to.include({ name: 'version 3 again', startNs: (noonNs + 3_000_000n).toString() })
    expect(harness.documents(store, 'spans').size).to.equal(formerStartsMax + 1)
    expect(trace(store).summary).to.include({ spanCount: 1, repeatedCount: 40 })
    const before = storedSpans(await harness.fold(starts))
    expect(before.map((span) => 'name' in span && span.name)).to.deep.equal([`version ${formerStartsMax}`])
  })

  it('tells what the spans that came again were before, and when the start last moved', async () => {
    const store = await harness.fold([
      received(1, [
        { id: 'a', atMs: 1, forMs: 90, status: 'error' },
        { id: 'b' },
        { id: 'd', atMs: 3, status: 'error' },
      ]),
      received(2, [
        { id: 'a', atMs: 7 },
        { id: 'd', atMs: 3, status: 'error' },
      ]),
      received(3, [{ id: 'a', atMs: 5 }]),
      received(4, [{ id: 'c', atMs: 900 }]),
    ])
    const at = (ms: number): string => sortableTime(noonNs + BigInt(ms) * 1_000_000n)
    expect(trace(store).summary).to.deep.include({
      startMovedAt: positionStep,
      replaced: { position: 3 * positionStep, start: at(1), lastStart: at(7), end: at(91), errorCount: 1 },
    })
  })

  it('stays where it began as long as later parts begin after it', async () => {
    const first = received(
      1,
      Array.from({ length: 1_000 }, (_, id) => ({ id, atMs: id })),
    )
    for (const [starts, movedBy] of [
      [[4_000], 1],
      [[-1], 3],
      // It came again, and the trace begins with the others once more.
      [[-1, 6_000], 4],
    ] as const) {
      const store = await foldAll(tracesProjection, [
        first,
        received(2, [{ id: 'late', atMs: 5_000 }]),
        ...starts.map((atMs, n) => received(3 + n, [{ id: 'last', atMs }])),
      ])
      expect(trace(store).summary.startMovedAt).to.equal(movedBy * positionStep)
    }
  })

  it('knows refused spans until they are stored after all', async () => {
    const store = await harness.fold([
      refused(1, ['x', 'y', 'z']),
      refused(2, ['x'], 'rejected_invalid'),
      received(3, [{ id: 'root' }, { id: 'y', parent: 'root' }]),
    ])
    expect(trace(store).summary).to.include({ spanCount: 2, rejectedSpanCount: 2 })
    expect(new Map(parts(store)[0]?.refused).get(spanIdOf('x'))).to.equal('rejected_invalid')
  })

  it('counts refused spans beyond those it keeps, and those whose id is none', async () => {
    const refusedSpans = Array.from({ length: refusedKeptMax + 3 }, (_, index) => ({
      traceId: traceIdOf('t'),
      spanId: (index + 1).toString(16).padStart(16, '0'),
      reason: 'rejected_allowance' as const,
    }))
    const zero = '0'.repeat(16)
    const broken = [
      { traceId: traceIdOf('t'), spanId: '', reason: 'rejected_invalid' as const },
      { traceId: traceIdOf('t'), spanId: '', reason: 'rejected_invalid' as const },
      { traceId: 'no trace', spanId: spanIdOf('a'), reason: 'rejected_invalid' as const },
      // Known, though there is no room for another.
      { traceId: traceIdOf('t'), spanId: `${zero.slice(1)}1`, reason: 'rejected_invalid' as const },
      { traceId: traceIdOf('t'), spanId: zero, reason: 'rejected_invalid' as const },
      { traceId: traceIdOf('t'), spanId: zero, reason: 'rejected_invalid' as const },
      { traceId: zero + zero, spanId: spanIdOf('a'), reason: 'rejected_invalid' as const },
    ]
    const store = await harness.fold([
      givenEvent('spans.refused', 1, { refusedSpans }),
      givenEvent('spans.refused', 2, { refusedSpans: broken }),
    ])
    expect(trace(store).summary.rejectedSpanCount).to.equal(refusedKeptMax + 7)
    expect(parts(store)[0]?.refused).to.have.length(refusedKeptMax)
    expect(harness.documents(store, 'traces').size).to.equal(1)
  })

  it('keeps once that spans without an id were refused, and counts each', async () => {
    const none = { traceId: traceIdOf('t'), spanId: '0'.repeat(16), reason: 'rejected_invalid' as const }
    const store = await harness.fold([
      givenEvent('spans.refused', 1, { refusedSpans: [none, none] }),
      givenEvent('spans.refused', 2, { refusedSpans: [none] }),
    ])
    expect(trace(store).summary.rejectedSpanCount).to.equal(3)
    expect(parts(store)[0]?.refused).to.deep.equal([[none.spanId, 'rejected_invalid']])
  })

  it('marks logs and browser events, and makes no trace of them', async () => {
    const store = await harness.fold([
      givenEvent('logs.received', 1, { logs: [givenLog({ trace: 't', sessionId: 'one' }), givenLog()] }),
      givenEvent('rum.received', 2, { rumEvents: [givenRumEvent({ trace: 't', sessionId: 'two' })] }),
      received(3, [{ trace: 'other', id: 'a' }]),
      givenEvent('rum.received', 4, {
        logs: [givenLog({ trace: 'other' })],
        spans: [givenSpan({ trace: 'other', id: 'b' })],
      }),
    ])
    expect(trace(store)).to.deep.include({ hasLogs: true, hasRum: true, joinedSessions: ['one', 'two'] })
    expect(trace(store).summary.spanCount).to.equal(0)
    expect(trace(store, 'other')).to.deep.include({ hasLogs: true, hasRum: false, joinedSessions: [] })
    expect(trace(store, 'other').summary.spanCount).to.equal(2)
    expect(harness.documents(store, 'traces').size).to.equal(2)
  })

  it('writes nothing for an event that changes nothing', async () => {
    const store = await harness.fold([
      givenEvent('logs.received', 1, { logs: [givenLog({ trace: 't' })] }),
      givenEvent('logs.received', 2, { logs: [givenLog({ trace: 't' })] }),
    ])
    const [entry] = store.dump(buildName(tracesProjection, 1)).filter(({ entry }) => entry.collection === 'traces')
    expect(entry?.entry.position).to.equal(4096)
  })

  it('fills parts of a thousand spans in order of arrival and sums over all of them', async () => {
    const many = (from: number, count: number): GivenSpan[] =>
      Array.from({ length: count }, (_, index) => ({
        id: from + index,
        parent: from + index === 0 ? null : from + index - 1,
      }))
    const store = await harness.fold([
      received(1, many(990, 600)),
      received(2, many(0, 990)),
      received(3, [...many(1_590, 1_000), ...many(0, 2)]),
      refused(4, ['z']),
    ])
    expect(parts(store).map(spansIn)).to.deep.equal([1_000, 1_000, 590])
    expect(parts(store).map((part) => part.refused.length)).to.deep.equal([1, 0, 0])
    expect(trace(store).summary).to.deep.include({
      spanCount: 2_590,
      repeatedCount: 2,
      missingParentCount: 0,
      rejectedSpanCount: 1,
      partCount: 3,
      root: { spanId: spanIdOf(0), service: 'checkout', operation: 'operation 0', startNs: noonNs.toString() },
    })
  })

  it('opens a second document for what comes more than seven days after the first event', async () => {
    const at = (days: number) => ({ receivedAt: noonMs + days * dayMs })
    const store = await harness.fold([
      givenEvent('logs.received', 1, { logs: [givenLog({ trace: 't' })] }, at(0)),
      received(2, [{ id: 'root' }], at(5)),
      received(3, [{ id: 'a', parent: 'root' }], at(7)),
      received(4, [{ id: 'b', parent: 'a' }], at(8)),
      received(5, [{ id: 'c', parent: 'b' }], at(13)),
    ])
    const documents = store
      .dump(buildName(tracesProjection, 1))
      .filter(({ entry }) => entry.collection === 'traces')
      .map(({ entry }) => entry.document as TraceDocument)
    expect(documents.map(({ generation, summary }) => [generation, summary.spanCount])).to.deep.equal([
      ['2026-11-21', 2],
      ['2026-11-29', 2],
    ])
  })

  it('counts what is received around midnight, in whatever order', async () => {
    const many = (from: number, count: number): GivenSpan[] =>
      Array.from({ length: count }, (_, n) => ({ id: from + n }))
    const [today, tomorrow] = [{ receivedAt: noonMs }, { receivedAt: noonMs + dayMs }]
    const store = await harness.fold([
      received(1, many(0, 990), today),
      received(2, many(990, 20), tomorrow),
      received(3, many(1_000, 20), today),
      received(4, many(1_010, 20), tomorrow),
    ])
    expect(trace(store).summary).to.include({ spanCount: 1_030, repeatedCount: 20, partCount: 2 })
  })

  it('stores attributes of resources and scopes once a day', async () => {
    const store = await harness.fold([
      received(1, [
        { id: 'a', resource: { region: 'eu' } },
        { id: 'b', resource: { region: 'eu' } },
      ]),
      received(2, [{ id: 'c', resource: { region: 'us' } }]),
    ])
    expect(harness.documents(store, 'attributeSets').size).to.equal(3)
  })
})
