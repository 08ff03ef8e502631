import { expect } from 'chai'
import { correlate } from '#projections/correlation/query.ts'
import { correlationProjection } from '#projections/correlation/fold.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { logItem } from '#projections/logs/log-item.ts'
import { messageOf, type LogDocument } from '#projections/logs/log-document.ts'
import { searchLogs } from '#projections/logs/query.ts'
import { recordId, type Projection } from '#projections/projection.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { createFoldHarness, givenEvent } from '#test/support/fold-harness.ts'
import { foldIntoStore } from '../traces/every-store.ts'
import { givenLog, givenRumEvent, givenSpan, noonNs, traceIdOf } from '../traces/given.ts'

const acme = workspaceIdOf('acme')
const ordinarySpan = givenSpan({ trace: 'cart', id: 'root', sessionId: 'visit' })
const events = [
  givenEvent('spans.received', 1, { spans: [ordinarySpan, givenSpan({ trace: 'pay', id: 'other' })] }),
  givenEvent('logs.received', 2, {
    logs: [
      givenLog({ trace: 'cart', message: 'of a trace' }),
      givenLog({ ordinal: 1, sessionId: 'visit', message: 'of a session' }),
      givenLog({ ordinal: 2, message: 'of nothing', service: null, level: null }),
    ],
  }),
  givenEvent('rum.received', 3, {
    rumEvents: [givenRumEvent({ sessionId: 'visit' }), givenRumEvent({ ordinal: 1, sessionId: null, trace: 'cart' })],
  }),
]

const written = {
  spans: {
    parentSpanId: null,
    traceState: '',
    flags: 0,
    status: { code: 'unset', message: '' },
    droppedAttributesCount: 0,
    spanEvents: [],
    droppedEventsCount: 0,
    links: [],
    droppedLinksCount: 0,
    sessionId: null,
    cuts: [],
  },
  logs: { level: null, service: null, traceId: null, spanId: null, sessionId: null, cuts: [] },
  rumEvents: { service: null, sessionId: null, traceId: null, spanId: null, url: null },
} as const

/** A projection that writes what it leaves out, as its versions before did. */
const earlier = (projection: Projection): Projection => ({
  ...projection,
  fold: (event, documents) =>
    projection.fold(event, {
      ...documents,
      put: (key, document, how) => {
        const { name } = key.collection
        const all = Object.hasOwn(written, name) ? { ...written[name as keyof typeof written] } : {}
        const present = Object.entries(document).filter(([, value]) => value !== undefined)
        documents.put(key, { ...all, ...Object.fromEntries(present) } as typeof document, how)
      },
    }),
})

async function readerOf(version: (projection: Projection) => Projection) {
  const store = createMemoryIndexStore()
  for (const projection of [tracesProjection, logsProjection, correlationProjection]) {
    await foldIntoStore(store, version(projection), events)
  }
  return store.reader
}

describe('what a record does not have', () => {
  it('takes no room in a document', async () => {
    const harness = createFoldHarness(tracesProjection)
    const [span] = harness.documents(await harness.fold(events), 'spans').values()
    expect(Object.keys(JSON.parse(stringifyJson(span)) as object)).to.have.members(
      'traceId spanId flags name kind startNs endNs attributes resource scope service sessionId'.split(' '),
    )
    const logs = createFoldHarness(logsProjection)
    const [, , log] = [...logs.documents(await logs.fold(events), 'logs').values()]
    expect(Object.keys(JSON.parse(stringifyJson(log)) as object)).to.have.members(
      'timestamp message source fields'.split(' '),
    )
  })

  for (const [form, id] of [
    ['trace', { kind: 'trace_id', value: traceIdOf('cart') }],
    ['session', { kind: 'session_id', value: 'visit' }],
    ['log', { kind: 'log_id', value: recordId(noonNs, '2'.padStart(32, '0'), 1) }],
  ] as const) {
    it(`is answered alike from what earlier versions wrote, while a new build is folded: by ${form}`, async () => {
      const [now, before] = [await readerOf((projection) => projection), await readerOf(earlier)]
      const answer = await correlate(now, acme, { id })
      expect(answer.logs?.items.map(({ message }) => message)).to.include('of a session')
      expect(answer.trace?.spans.map(({ status }) => status)).to.deep.equal([{ code: 'unset', message: '' }])
      expect(await correlate(before, acme, { id })).to.deep.equal(answer)
    })
  }

  for (const { fields, message, kept } of [
    { fields: { message: 'declined', n: 1 }, message: 'declined', kept: false },
    { fields: { msg: 'declined' }, message: 'declined', kept: false },
    { fields: { message: 'declined', msg: 'other' }, message: 'declined', kept: false },
    { fields: { message: 'other', msg: 'declined' }, message: 'declined', kept: true },
    { fields: { message: { text: 'other' }, msg: 'declined' }, message: 'declined', kept: false },
    { fields: { message: 1 }, message: '1', kept: true },
    { fields: { log: 'declined' }, message: 'declined', kept: true },
    { fields: {}, message: '', kept: true },
  ]) {
    it(`${kept ? 'is not' : 'is'} the message of a log whose fields are ${JSON.stringify(fields)}`, async () => {
      const harness = createFoldHarness(logsProjection)
      const store = await harness.fold([givenEvent('logs.received', 1, { logs: [givenLog({ fields, message })] })])
      const [document] = harness.documents<LogDocument>(store, 'logs').values()
      expect(Object.hasOwn(document ?? {}, 'message')).to.equal(kept)
      expect(document && messageOf(document)).to.equal(message)
      const found = await searchLogs(store.reader, acme, { limit: 1, order: 'desc', query: { kind: 'all' } })
      expect(found.logs[0]?.message).to.equal(message)
    })
  }

  it('is null in a log record that is answered, of which nothing was cut', async () => {
    const harness = createFoldHarness(logsProjection)
    const kept = [...harness.documents<LogDocument>(await harness.fold(events), 'logs').values()]
    const document = { ...kept[2], ...written.logs } as LogDocument
    const hit = { id: 'a', day: '', timeNs: 0n, position: 0, sort: { value: 0n, id: 'a' } }
    const { fields: _fields, timestamp: _timestamp, ...answer } = logItem({ ...hit, document })
    const absent = { level: null, service: null, trace_id: null, span_id: null, session_id: null }
    expect(answer).to.deep.equal({ id: 'a', message: 'of nothing', ...absent })
  })
})
