import { expect } from 'chai'
import { allowanceProjection } from '#projections/allowance/fold.ts'
import { readUsage } from '#projections/allowance/query.ts'
import { correlationProjection } from '#projections/correlation/fold.ts'
import { correlate } from '#projections/correlation/query.ts'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { createDecoders } from '#projections/folding/decoders.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { searchLogs } from '#projections/logs/query.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { readTrace } from '#projections/traces/read-trace.ts'
import { limits, plans } from '#src/config.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'
import { noCounts, type RecordedEvent } from '#src/events/envelope.ts'
import { createFoldHarness, givenEvent } from '#test/support/fold-harness.ts'
import { startIngest, type TestIngest } from '#test/support/ingest.ts'
import { emptySpan, encodeJson, requestOf } from '#test/support/otlp.ts'
import { describeOnEveryStore, foldIntoStore, type NewStore } from '../traces/every-store.ts'

const hourMs = 3_600_000
const projections = [tracesProjection, logsProjection, correlationProjection, allowanceProjection]
const decode = createDecoder(createDecoders(limits))

async function readerOf(newStore: NewStore, events: readonly RecordedEvent[]): Promise<IndexReader> {
  const store = newStore()
  for (const projection of projections) await foldIntoStore(store, projection, events.map(decode))
  return store.reader
}

const traceId = 'a'.repeat(32)
const spans = Array.from({ length: 2 }, (_, index) => ({ ...emptySpan, traceId, spanId: String(index + 1).repeat(16) }))
const traces = JSON.parse(encodeJson(requestOf(spans))) as object
const session = 'visit'
const timestamp = '2026-11-21T11:59:00.000Z'
const faro = (time: object): string =>
  JSON.stringify({
    meta: { app: { name: 'shop' }, session: { id: session } },
    logs: [{ message: 'paid', level: 'info', ...time }],
    exceptions: [{ type: 'Error', value: 'boom', ...time }],
    events: [{ name: 'click', ...time }],
    measurements: [{ type: 'lcp', values: { lcp: 1 }, ...time }],
    traces,
  })

describeOnEveryStore('a browser request that comes again when more of it is allowed', (newStore) => {
  let ingest: TestIngest
  beforeEach(async () => {
    ingest = await startIngest()
  })
  afterEach(() => ingest.server.close())

  async function send(body: string, plan: Partial<WorkspacePlan>): Promise<unknown> {
    ingest.directory.setPlan('acme', { ...(plans['pro'] as WorkspacePlan), ...plan })
    const headers = {
      'x-api-key': ingest.keys.publishable,
      'content-type': 'application/json',
      'idempotency-key': 'one-and-the-same-key',
    }
    return (await ingest.post('/api/rum/v1/ingest', body, headers)).json
  }

  /** Everything that readers are told of how many there are. */
  async function told() {
    const reader = await readerOf(newStore, await ingest.events())
    const page = await searchLogs(reader, ingest.workspace, {
      order: 'asc',
      limit: 100,
      include: ['count', 'histogram', 'facets'],
    })
    const { rum_events: rumEvents } = await correlate(reader, ingest.workspace, {
      id: { kind: 'session_id', value: session },
    })
    const trace = await readTrace(reader, ingest.workspace, traceId, { limit: 100 })
    const { total, byService } = await readUsage(reader, ingest.workspace, '2026-11')
    return {
      logs: page.logs.map(({ message }) => message).sort(),
      count: page.count,
      inHistogram: page.histogram?.buckets.reduce((sum, bucket) => sum + bucket.total, 0),
      facet: page.facets?.find(({ field }) => field === 'source')?.values,
      rumEvents: rumEvents.items.map(({ name }) => name).sort(),
      spans: trace?.spans.length ?? 0,
      usage: { logs: total.logs, rumEvents: total.rumEvents },
      shop: { logs: byService['shop']?.logs, rumEvents: byService['shop']?.rumEvents },
    }
  }
  const all = {
    logs: ['Error: boom', 'paid'],
    count: 2,
    inHistogram: 2,
    facet: [{ value: 'rum', count: 2 }],
    rumEvents: ['click', 'lcp'],
    spans: 2,
    usage: { logs: 2, rumEvents: 2 },
    shop: { logs: 2, rumEvents: 2 },
  }

  for (const [name, time] of Object.entries({ 'with times': { timestamp }, 'without times': {} })) {
    it(`has the logs and browser events that it had before once, ${name}`, async () => {
      const body = faro(time)
      expect(await send(body, { spansPerMonth: 1 })).to.deep.equal({ accepted: 5, rejected: 1 })
      ingest.now.ms += 61 * 60_000
      expect(await send(body, {})).to.deep.equal({ accepted: 6, rejected: 0 })
      expect(await told()).to.deep.equal(all)
    })

    it(`the same on the next day, and a third time, ${name}`, async () => {
      ingest.now.ms = Date.UTC(2026, 10, 21, 23, 30)
      const body = faro(time)
      await send(body, { spansPerMonth: 1 })
      for (const later of [61 * 60_000, 2 * hourMs]) {
        ingest.now.ms += later
        expect(await send(body, {})).to.deep.equal({ accepted: 6, rejected: 0 })
      }
      expect(await told()).to.deep.equal(all)
    })

    it(`gets the logs that the plan did not include, and its browser events, whose places have moved, once, ${name}`, async () => {
      const body = faro(time)
      expect(await send(body, { features: ['tracing'] })).to.deep.equal({ accepted: 4, rejected: 2 })
      ingest.now.ms += 61 * 60_000
      expect(await send(body, {})).to.deep.equal({ accepted: 6, rejected: 0 })
      expect(await told()).to.deep.equal(all)
    })
  }
})

describe('an identified event that comes again', () => {
  const harness = createFoldHarness(allowanceProjection)
  const at = (n: number, day: number, hour: number, minute: number, spanCount = 1): DecodedEvent =>
    givenEvent(
      'spans.received',
      n,
      {},
      {
        id: 'acme.traces.one',
        receivedAt: Date.UTC(2026, 10, day, hour, minute),
        counts: { ...noCounts, spans: spanCount },
      },
    )
  /** How many spans counted, day by day. */
  async function counted(events: readonly DecodedEvent[]): Promise<Readonly<Record<string, number>>> {
    const store = await harness.fold(events)
    const { byDay } = await readUsage(store.reader, events[0]!.event.workspaceId, '2026-11')
    return Object.fromEntries(Object.entries(byDay).map(([day, { spans: ofDay }]) => [day, ofDay]))
  }

  it('counts once within 24 hours of the last time that it counted, on whatever days', async () => {
    const events = [at(1, 1, 23, 0), at(2, 2, 22, 59), at(3, 2, 23, 30), at(4, 3, 10, 0), at(5, 3, 23, 29)]
    expect(await counted(events)).to.deep.equal({ '2026-11-01': 1, '2026-11-02': 1 })
    const on = [at(6, 3, 23, 30), at(7, 4, 0, 0), at(8, 5, 0, 0), at(9, 5, 23, 59), at(10, 6, 0, 0)]
    expect(await counted([...events, ...on])).to.deep.equal({
      '2026-11-01': 1,
      '2026-11-02': 1,
      '2026-11-03': 1,
      '2026-11-05': 1,
      '2026-11-06': 1,
    })
  })

  it('with another number of records is another one, for 24 hours', async () => {
    const events = [at(1, 1, 23, 0, 1), at(2, 2, 0, 30, 2), at(3, 2, 22, 0, 1), at(4, 2, 23, 0, 2), at(5, 3, 0, 30, 2)]
    expect(await counted(events)).to.deep.equal({ '2026-11-01': 1, '2026-11-02': 2, '2026-11-03': 2 })
  })

  it('is known beside another of its day with another number of records', async () => {
    const events = [at(1, 1, 10, 0, 1), at(2, 1, 11, 0, 2), at(3, 1, 12, 0, 1), at(4, 1, 13, 0, 2)]
    expect(await counted(events)).to.deep.equal({ '2026-11-01': 3 })
  })

  it('is told from one of another type, which tells of the same request', async () => {
    const ofType = (type: 'rum.received' | 'spans.refused', n: number, refused: number): DecodedEvent =>
      givenEvent(type, n, {}, { id: 'acme.rum.one/refused', counts: { ...noCounts, refused } })
    const events = [ofType('rum.received', 1, 2), ofType('spans.refused', 2, 3)]
    const { reader } = await harness.fold(events)
    const { total } = await readUsage(reader, events[0]!.event.workspaceId, '2026-11')
    expect(total).to.deep.include({ refusedRecords: 2, refusedSpans: 3 })
  })
})

describe('an identified event whose mark is in the index', () => {
  const counts = { ...noCounts, logs: 3, rumEvents: 2 }
  const event = givenEvent('rum.received', 5, {}, { id: 'acme.rum.one', counts })
  const { position, receivedAt } = event.event
  /** How many logs and browser events of it are folded, where its mark says these numbers. */
  function folded(place: number, logs: number, rumEvents = 2): readonly number[] | undefined {
    let found: readonly number[] | undefined
    const projection = withSeenEvents({
      ...logsProjection,
      fold: (given) => void (found = [given.event.counts.logs, given.event.counts.rumEvents]),
    })
    const get = <Document>(): Document => ({ firsts: [[place, receivedAt, 0, logs, rumEvents]] }) as Document
    projection.fold(event, { get, update: () => undefined, put: () => undefined })
    return found
  }

  it('is left out by an earlier one, and folded again where the mark is its own, or of a later one', () => {
    expect(folded(position - 1, 3)).to.equal(undefined)
    expect(folded(position, 3)).to.deep.equal([3, 2])
    expect(folded(position + 1, 3)).to.deep.equal([3, 2])
  })

  it('has all of its logs, or browser events, where the earlier one had fewer', () => {
    expect(folded(position - 1, 2)).to.deep.equal([3, 0])
    expect(folded(position - 1, 4)).to.deep.equal([0, 0])
    for (const rumEvents of [0, 1]) expect(folded(position - 1, 3, rumEvents)).to.deep.equal([0, 2])
    expect(folded(position - 1, 3, 3)).to.deep.equal([0, 0])
  })
})
