import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { allowanceProjection } from '#projections/allowance/fold.ts'
import { readKeyUse, readRefusals, readUsage, readUsageAt } from '#projections/allowance/query.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { noCounts, type Counts, type TelemetryEventType } from '#src/events/envelope.ts'
import type { RefusalReason } from '#src/events/telemetry.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { givenLog, givenRumEvent, givenSpan, traceIdOf } from '#test/projections/traces/given.ts'
import { createFoldHarness, foldInto, givenEvent, type GivenHeader } from '#test/support/fold-harness.ts'
import { promote } from '#test/support/promote.ts'

const harness = createFoldHarness(allowanceProjection)
const acme = workspaceIdOf('acme')

const event = (n: number, type: TelemetryEventType, counts: Partial<Counts>, header: GivenHeader = {}): DecodedEvent =>
  givenEvent(type, n, {}, { counts: { ...noCounts, ...counts }, ...header })

const refusal = (
  n: number,
  refused: number,
  reasons: readonly RefusalReason[],
  header: GivenHeader = {},
): DecodedEvent =>
  givenEvent(
    'spans.refused',
    n,
    { refusedSpans: reasons.map((reason) => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), reason })) },
    { counts: { ...noCounts, refused, bytes: 99 }, ...header },
  )

const usage = (store: MemoryIndexStore, month = '2026-11') => readUsage(store.reader, acme, month)

describe('projections/allowance', () => {
  it('adds up a month from headers, by day and by key', async () => {
    const store = await harness.fold([
      event(1, 'spans.received', { spans: 3, bytes: 300 }),
      event(2, 'spans.received', { spans: 4, bytes: 400 }, { keyId: 'key-2', receivedAt: Date.UTC(2026, 10, 22) }),
      event(3, 'logs.received', { logs: 5, refused: 2, bytes: 50 }, { identified: false }),
      event(4, 'rum.received', { rumEvents: 2, logs: 1, spans: 1, bytes: 80 }),
      event(5, 'rum.received', { spans: 2, bytes: 70 }, { keyId: null }),
      refusal(6, 3, ['rejected_allowance', 'rejected_invalid', 'rejected_allowance']),
      event(7, 'rum.received', { refused: 1, bytes: 13 }),
      event(8, 'rum.received', { rumEvents: 1, spans: 1, bytes: 7 }),
    ])
    const found = await usage(store)
    expect(found.total).to.deep.equal({
      requests: 7,
      spans: 11,
      logs: 6,
      rumEvents: 3,
      refusedSpans: 3,
      refusedRecords: 3,
      bytes: 920,
    })
    expect([found.spans, found.spanBytes]).to.deep.equal([11, 770])
    expect(found.refused).to.deep.equal({ rejected_allowance: 2, rejected_invalid: 1, rejected_record: 3 })
    expect(Object.entries(found.byDay).map(([day, { spans }]) => [day, spans])).to.deep.equal([
      ['2026-11-21', 7],
      ['2026-11-22', 4],
    ])
    expect(Object.entries(found.byKey).map(([key, { spans }]) => [key, spans])).to.deep.equal([
      ['', 2],
      ['key-1', 5],
      ['key-2', 4],
    ])
    expect(found.resetsAt).to.equal(Date.UTC(2026, 11, 1))
  })

  it('goes by the time of receipt, in UTC, not by the time of spans', async () => {
    const store = await harness.fold([
      event(1, 'spans.received', { spans: 1 }, { receivedAt: Date.UTC(2026, 9, 31, 23, 59, 59, 999) }),
      event(2, 'spans.received', { spans: 2 }, { receivedAt: Date.UTC(2026, 10, 1) }),
      event(3, 'spans.received', { spans: 4 }, { receivedAt: Date.UTC(2026, 10, 30, 23, 59, 59, 999) }),
      event(4, 'spans.received', { spans: 8 }, { receivedAt: Date.UTC(2026, 11, 31, 23) }),
      event(5, 'spans.received', { spans: 16 }, { receivedAt: Date.UTC(2027, 0, 1) }),
    ])
    const months = ['2026-10', '2026-11', '2026-12', '2027-01', '2027-02']
    const spans = await Promise.all(months.map(async (month) => (await usage(store, month)).spans))
    expect(spans).to.deep.equal([1, 6, 8, 16, 0])
    expect((await readUsageAt(store.reader, acme, Date.UTC(2026, 10, 15))).spans).to.equal(6)
    expect((await usage(store, '2026-12')).resetsAt).to.equal(Date.UTC(2027, 0, 1))
  })

  it('counts every day of a month of 31', async () => {
    const days = Array.from({ length: 31 }, (_, day) =>
      event(day + 1, 'spans.received', { spans: 1 }, { receivedAt: Date.UTC(2026, 11, day + 1) }),
    )
    expect((await usage(await harness.fold(days), '2026-12')).spans).to.equal(31)
  })

  it('counts a request that comes again once, and equal log requests each', async () => {
    const id = 'acme.traces.same'
    const store = await harness.fold([
      event(1, 'spans.received', { spans: 5 }, { id }),
      event(2, 'spans.received', { spans: 5 }, { id }),
      event(3, 'logs.received', { logs: 1 }, { identified: false }),
      event(4, 'logs.received', { logs: 1 }, { identified: false }),
    ])
    const { total } = await usage(store)
    expect([total.spans, total.logs, total.requests]).to.deep.equal([5, 2, 3])
  })

  it('counts what is allowed of a request later, when it had been refused', async () => {
    const id = 'acme.traces.raised'
    const later = Date.UTC(2026, 10, 21, 20)
    const store = await harness.fold([
      event(1, 'spans.refused', { refused: 5 }, { id }),
      event(2, 'spans.received', { spans: 5 }, { id, receivedAt: later }),
      event(3, 'spans.received', { spans: 5 }, { id, receivedAt: later + 3_600_000 }),
    ])
    expect((await usage(store)).total.spans).to.equal(5)
  })

  it('keeps workspaces apart', async () => {
    const store = await harness.fold([
      event(1, 'spans.received', { spans: 5 }),
      event(2, 'spans.received', { spans: 7 }, { workspace: 'other' }),
      refusal(3, 1, ['rejected_invalid'], { workspace: 'other' }),
    ])
    expect((await usage(store)).total).to.deep.include({ spans: 5, refusedSpans: 0 })
    expect(await readRefusals(store.reader, acme, { from: '2026-11-01', to: '2026-11-30' })).to.deep.equal([])
  })

  it('lists refusals by day, kind, key and reason, and says how many no list names', async () => {
    const nextDay = Date.UTC(2026, 10, 22, 1)
    const store = await harness.fold([
      refusal(1, 2, ['rejected_allowance', 'rejected_allowance']),
      refusal(2, 5, ['rejected_allowance']),
      refusal(3, 1, ['rejected_invalid'], { receivedAt: nextDay, keyId: null }),
      event(4, 'logs.received', { logs: 1, refused: 3 }, { receivedAt: nextDay }),
      event(5, 'logs.received', { logs: 1, refused: 1 }, { receivedAt: nextDay, keyId: 'key-2' }),
      event(6, 'rum.received', { rumEvents: 1, refused: 2 }, { receivedAt: nextDay }),
    ])
    const all = await readRefusals(store.reader, acme, { from: '2026-11-21', to: '2026-11-22' })
    const lines = all.map(({ day, eventType, keyId, reason, count }) =>
      [day, eventType, keyId, reason, count].join(' '),
    )
    expect(
      all.map(({ day }) => day),
      'the newest first',
    ).to.deep.equal([
      ...Array.from({ length: 4 }, () => '2026-11-22'),
      ...Array.from({ length: 2 }, () => '2026-11-21'),
    ])
    expect(lines.sort()).to.deep.equal([
      '2026-11-21 spans.refused key-1 rejected_allowance 3',
      '2026-11-21 spans.refused key-1 unlisted 4',
      '2026-11-22 logs.received key-1 rejected_record 3',
      '2026-11-22 logs.received key-2 rejected_record 1',
      '2026-11-22 rum.received key-1 rejected_record 2',
      '2026-11-22 spans.refused  rejected_invalid 1',
    ])
    const first = await readRefusals(store.reader, acme, { from: '2026-11-21', to: '2026-11-21' })
    expect(first.map(({ day }) => day)).to.deep.equal(['2026-11-21', '2026-11-21'])
    expect((await usage(store)).total.refusedSpans).to.equal(8)
  })

  it('counts a month whose days come in any order', async () => {
    const days = [22, 21, 22, 1, 30, 21]
    const store = await harness.fold(
      days.map((day, index) =>
        event(index + 1, 'spans.received', { spans: 1 }, { receivedAt: Date.UTC(2026, 10, day) }),
      ),
    )
    const { spans, byDay } = await usage(store)
    expect(spans).to.equal(6)
    expect(Object.entries(byDay).map(([day, tally]) => [day, tally.spans])).to.deep.equal([
      ['2026-11-01', 1],
      ['2026-11-21', 2],
      ['2026-11-22', 2],
      ['2026-11-30', 1],
    ])
  })

  it('bounds the keys of a month', async () => {
    // And then again with one that is known.
    const events = [...Array.from({ length: 1_003 }).keys(), 0].map((key, index) =>
      event(index + 1, 'spans.received', { spans: 1 }, { keyId: `key-${key}` }),
    )
    const store = createMemoryIndexStore()
    const index = buildName(allowanceProjection, 1)
    await foldInto(store.writer, index, allowanceProjection, [events])
    await promote(store.writer, 'allowance', index)
    const { byKey, spans } = await usage(store)
    expect(spans).to.equal(1_004)
    expect(Object.keys(byKey)).to.have.length(1_001)
    expect([byKey['']?.spans, byKey['key-0']?.spans]).to.deep.equal([3, 2])
  })

  it('adds up a month by the service that records name, whatever way they came', async () => {
    const store = await harness.fold([
      givenEvent('spans.received', 1, { spans: [givenSpan({ id: 1 }), givenSpan({ id: 2, service: 'payments' })] }),
      givenEvent('logs.received', 2, { logs: [givenLog(), givenLog({ ordinal: 1, service: null })] }),
      givenEvent('rum.received', 3, {
        spans: [givenSpan({ id: 3, service: 'shop' })],
        logs: [givenLog({ service: 'shop' })],
        rumEvents: [givenRumEvent(), givenRumEvent({ ordinal: 1 })],
      }),
      givenEvent('spans.received', 4, { spans: [givenSpan({ id: 4 })] }, { receivedAt: Date.UTC(2026, 11, 1) }),
    ])
    expect((await usage(store)).byService).to.deep.equal({
      '': { spans: 0, logs: 1, rumEvents: 0 },
      checkout: { spans: 1, logs: 1, rumEvents: 0 },
      payments: { spans: 1, logs: 0, rumEvents: 0 },
      shop: { spans: 1, logs: 1, rumEvents: 2 },
    })
    expect((await usage(store, '2026-12')).byService).to.deep.equal({ checkout: { spans: 1, logs: 0, rumEvents: 0 } })
  })

  it('bounds the services of a month, and how long their names are', async () => {
    const services = Array.from({ length: 503 }, (_, index) => `service-${index}`)
    const long = 's'.repeat(1_000)
    const spans = [long, ...services].map((service, id) => givenSpan({ id, service }))
    const again = [givenSpan({ id: 1_000, service: 'service-0' })]
    const events = [spans, again].map((of, index) => givenEvent('spans.received', index + 1, { spans: of }))
    const { byService } = await usage(await harness.fold(events))
    expect(Object.keys(byService)).to.have.length(501)
    expect([byService['']?.spans, byService['service-0']?.spans]).to.deep.equal([4, 2])
    expect(byService[long.slice(0, 128)]?.spans).to.equal(1)
  })

  it('knows of each key when it was used last, to the minute, and what came by it first', async () => {
    const noon = Date.UTC(2026, 10, 21, 12)
    const at = (seconds: number, keyId: string) => ({ keyId, receivedAt: noon + seconds * 1_000 })
    const store = await harness.fold([
      refusal(1, 2, ['rejected_allowance', 'rejected_allowance'], at(0, 'k1')),
      givenEvent('spans.received', 2, { spans: [givenSpan({ id: 1, trace: 'a', sessionId: 's-1' })] }, at(1, 'k1')),
      givenEvent('spans.received', 3, { spans: [givenSpan({ id: 2, trace: 'b' })] }, at(59, 'k1')),
      givenEvent('logs.received', 4, { logs: [givenLog({ service: null })] }, at(70, 'k2')),
      givenEvent('rum.received', 5, { logs: [givenLog()], rumEvents: [givenRumEvent()] }, at(80, 'k3')),
      givenEvent('logs.received', 6, { logs: [givenLog()] }, at(200, 'k2')),
      // The clock goes back.
      givenEvent('logs.received', 7, { logs: [givenLog()] }, at(100, 'k2')),
      givenEvent('logs.received', 8, { logs: [givenLog()] }, { keyId: null }),
      // Within the minute, in which only what is new of a key is written.
      refusal(9, 1, ['rejected_invalid'], at(130, 'k3')),
      refusal(10, 1, ['rejected_allowance'], at(131, 'k3')),
    ])
    const use = await readKeyUse(store.reader, acme, ['k1', 'k2', 'k3', 'k4'])
    expect([...use.keys()].sort()).to.deep.equal(['k1', 'k2', 'k3'])
    const none = { service: null, traceId: null, sessionId: null }
    expect(use.get('k1')).to.deep.equal({
      keyId: 'k1',
      lastUsedAt: noon + 1_000,
      first: { at: noon + 1_000, kind: 'span', service: 'checkout', traceId: traceIdOf('a'), sessionId: 's-1' },
      refused: { at: noon, reason: 'rejected_allowance' },
    })
    expect(use.get('k2')).to.deep.equal({
      keyId: 'k2',
      lastUsedAt: noon + 200_000,
      first: { ...none, at: noon + 70_000, kind: 'log' },
      refused: null,
    })
    expect(use.get('k3')?.first).to.deep.equal({ ...none, at: noon + 80_000, kind: 'rumEvent', service: 'shop' })
    expect(use.get('k3')?.refused).to.deep.equal({ at: noon + 130_000, reason: 'rejected_invalid' })
    expect((await readKeyUse(store.reader, workspaceIdOf('other'), ['k1'])).size).to.equal(0)
  })

  it('knows nothing before the first build', async () => {
    const found = await usage(createMemoryIndexStore())
    expect([found.spans, found.progress]).to.deep.equal([0, undefined])
  })
})
