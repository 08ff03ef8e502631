import { encode } from '@msgpack/msgpack'
import { expect } from 'chai'
import { limits as defaults } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { scanLogs, type LogScan } from '#src/wire/logs/scan.ts'

const receivedAt = 1_795_240_001_079
const json = 'application/json'
const msgpack = 'application/msgpack'
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

type Body = Readonly<Record<string, unknown>>
const forms: readonly (readonly [contentType: string, write: (body: unknown) => Uint8Array])[] = [
  [json, (body) => Buffer.from(JSON.stringify(body))],
  [msgpack, (body) => encode(body, { maxDepth: 1_000 })],
]

for (const [contentType, write] of forms) {
  const scan = (body: Body, limits = {}): ReturnType<typeof scanLogs> =>
    scanLogs(write(body), contentType, { ...defaults, ...limits })
  const taken = (body: Body): LogScan => {
    const scanned = scan(body)
    if (!scanned.ok) throw new Error(scanned.error.detail)
    return scanned.value
  }
  const records = (body: Body): readonly LogRecord[] => {
    const { payload, contentType: kept, records: count } = taken(body)
    const decoded = decodeLogs(payload, kept, { receivedAt, limits: defaults })
    expect(decoded).to.have.length(count)
    // What is kept may be sent to another installation, which is to find the same in it.
    const again = scanLogs(payload, kept, defaults)
    expect(again.ok && [again.value.records, again.value.rejected.length]).to.deep.equal([count, 0])
    return decoded
  }

  describe(`what stands beside a list of log records, ${contentType}`, () => {
    it('holds for each of them', () => {
      const found = records({ service: 'shop', env: 'live', tags: ['a'], logs: [{ msg: 'one', n: 1 }, {}] })
      expect(found.map(({ service, fields }) => [service, { ...fields }])).to.deep.equal([
        ['shop', { msg: 'one', n: 1, service: 'shop', env: 'live', tags: ['a'] }],
        ['shop', { service: 'shop', env: 'live', tags: ['a'] }],
      ])
    })

    it('holds beside fields in which a record says no service', () => {
      const logs = [
        { msg: 'one', fields: { order: 7 } },
        { msg: 'two', extra: { order: 7 } },
      ]
      expect(records({ service: 'shop', logs }).map(({ service }) => service)).to.deep.equal(['shop', 'shop'])
    })

    it('holds where some records are left out too', () => {
      const body = { events: [5, { msg: 'one' }, 'x'], app: 'shop' }
      expect(taken(body).rejected.map(({ index }) => index)).to.deep.equal([0, 2])
      expect(records(body).map(({ service, message }) => [service, message])).to.deep.equal([['shop', 'one']])
    })

    it('does not hold for a record that says it itself, by the same name or another', () => {
      const outer = {
        timestamp: '2026-11-20T00:00:00Z',
        service: 'outer',
        trace_id: 'f'.repeat(32),
        span_id: 'f'.repeat(16),
        session_id: 'outer',
        severityNumber: 17,
        env: 'outer',
      }
      const own = {
        time: '2026-11-21T00:00:00Z',
        app: 'own',
        traceparent: `00-${traceId}-${spanId}-01`,
        faro: { session: { id: 'own' } },
        level: 30,
        env: 'own',
      }
      const [first, second] = records({ ...outer, logs: [own, { service: '', env: null }] })
      expect(first).to.deep.include({ service: 'own', traceId, spanId, sessionId: 'own', level: 'info' })
      expect(first?.timeNs).to.equal(BigInt(Date.parse(own.time)) * 1_000_000n)
      expect({ ...first?.fields }).to.deep.equal(own)
      expect(second).to.deep.include({ service: 'outer', traceId: outer.trace_id, sessionId: 'outer', level: 'error' })
      expect(second?.timeNs).to.equal(BigInt(Date.parse(outer.timestamp)) * 1_000_000n)
      expect(second?.fields['env']).to.equal('outer')
    })

    it('holds for what each leaves open, whatever the record before it says', () => {
      const logs = [
        { msg: 'a' },
        { app: 'own', msg: 'b' },
        { msg: 'c' },
        { env: 'dev' },
        {},
        { env: null },
        { app: 'own' },
      ]
      const found = records({ logs, service: 'shop', env: 'live' })
      const all = { service: 'shop', env: 'live' }
      expect(found.map(({ fields }) => ({ ...fields }))).to.deep.equal([
        { msg: 'a', ...all },
        { app: 'own', msg: 'b', env: 'live' },
        { msg: 'c', ...all },
        { service: 'shop', env: 'dev' },
        all,
        all,
        { app: 'own', env: 'live' },
      ])
    })

    it('counts as often as it is kept, against the limits of a request', () => {
      const body = { note: 'x'.repeat(100), list: [1, 2, 3], logs: Array.from({ length: 10 }, () => ({ a: 1 })) }
      for (const limits of [{ decodedBytesMax: 1_000 }, { nodesPerRequestMax: 60 }]) {
        const scanned = scan(body, limits)
        expect(!scanned.ok && scanned.error.code).to.equal('payload_too_large')
      }
      expect(scan(body, { decodedBytesMax: 2_000, nodesPerRequestMax: 150 }).ok).to.equal(true)
      // What is kept is read again as a body is: it must not be larger than one may be.
      const least = [...Array(3_000).keys()].find((decodedBytesMax) => scan(body, { decodedBytesMax }).ok) ?? 0
      expect(taken(body).payload.length).to.be.at.most(least)
    })

    it('is refused where it is nested deeper than a record may be', () => {
      const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
      expect(scan({ tags: nested(defaults.jsonDepthMax - 1), logs: [{}] }).ok).to.equal(true)
      const scanned = scan({ tags: nested(defaults.jsonDepthMax), logs: [{}] })
      expect(!scanned.ok && scanned.error.code).to.equal('invalid_body')
    })

    it('is no list where a record has one beside a message or a level', () => {
      const [record] = records({ message: 'm', service: 'shop', logs: [{ msg: 'inner' }] })
      expect(record).to.deep.include({ message: 'm', service: 'shop' })
    })
  })

  describe(`a list beside a level and no message, ${contentType}`, () => {
    it('is one of records where each tells a message, and the level holds for those without one', () => {
      const found = records({ level: 'error', logs: [{ message: 'one' }, { msg: 'two', level: 'warn' }] })
      expect(found.map(({ message, level }) => [message, level])).to.deep.equal([
        ['one', 'error'],
        ['two', 'warn'],
      ])
    })

    it('is part of a record where one tells none, or is no record', () => {
      for (const list of [[], [{ a: 1 }], [{ msg: 'one' }, { a: 1 }], [{ msg: 'one' }, 'two'], [{ msg: '' }]]) {
        const [record, ...others] = records({ level: 'info', id: 7, events: list })
        expect(others).to.deep.equal([])
        expect({ ...record?.fields }).to.deep.equal({ level: 'info', id: 7, events: list })
      }
      expect(records({ level: 'info', logs: [{ msg: 'one' }], events: [{ msg: 'two' }] })).to.have.length(1)
      expect(records({ level: 'info', resourceLogs: [{}] })).to.have.length(1)
    })

    it('that was kept as part of a record stays that', () => {
      const kept = write({ level: 'error', logs: [{ message: 'one' }, { message: 'two' }] })
      expect(decodeLogs(kept, contentType, { receivedAt, limits: defaults })).to.have.length(1)
    })
  })

  describe(`how clouds wrap logs, ${contentType}`, () => {
    const time = '2026-11-29T09:46:42.080Z'
    const ofAzure = { time, resourceId: '/SUBSCRIPTIONS/1', category: 'x' }
    const ofTrail = { eventTime: time, eventSource: 's3.amazonaws.com', eventName: 'PutObject' }
    const ofWatch = { id: '7', timestamp: Date.parse(time), message: 'declined' }
    const group = { messageType: 'DATA_MESSAGE', logGroup: '/aws/lambda/orders', logStream: '2026/11/29/[1]7' }

    it('is a list of records, each with what stands beside it', () => {
      expect(records({ records: [ofAzure, ofAzure] })).to.have.length(2)
      const { time: _time, ...undated } = ofAzure
      const ofGateway = { timeStamp: time, resourceId: '/SUBSCRIPTIONS/1', operationName: 'a', category: 'x' }
      const ofDefender = { time, tenantId: '7', operationName: 'Publish', category: 'AdvancedHunting-DeviceInfo' }
      const ofBoth = records({ records: [ofAzure, undated, ofGateway, ofDefender] })
      expect(ofBoth.map((record) => record.timeNs === BigInt(receivedAt) * 1_000_000n)).to.deep.equal([
        false,
        true,
        false,
        false,
      ])
      expect(records({ Records: [ofTrail, ofTrail] })).to.have.length(2)
      const [first, second] = records({ ...group, logEvents: [ofWatch, { ...ofWatch, message: 'paid' }] })
      expect(first).to.include({ message: 'declined', service: 'orders' })
      expect({ ...second?.fields }).to.deep.equal({ ...ofWatch, message: 'paid', ...group })
    })

    it('is a list of lines of Mezmo, of its loggers and its agent', () => {
      const line = { timestamp: Date.parse(time), line: 'declined', level: 'ERROR', app: 'shop' }
      const [first, empty] = records({ e: 'ls', ls: [line, { ...line, line: '' }] })
      expect(first).to.include({ message: 'declined', level: 'error', service: 'shop' })
      expect(empty).to.include({ message: '', level: 'error', service: 'shop' })
      expect(records({ lines: [line, { ...line, app: undefined, file: '/var/log/shop' }] })).to.have.length(2)
      const departures = [{ line: 'U2', timestamp: line.timestamp }]
      expect(records({ lines: departures }), 'neither of an app nor of a file').to.have.length(1)
      expect({ ...records({ lines: departures })[0]?.fields }).to.deep.equal({ lines: departures })
    })

    it('is a list of Kubernetes, of its audit webhook and of kubectl, whose own members say nothing of a record', () => {
      const audited = { level: 'Metadata', auditID: '7', stage: 'ResponseComplete', verb: 'get', stageTimestamp: time }
      const list = { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {} }
      const [first, second] = records({ ...list, items: [audited, { ...audited, auditID: '8' }] })
      expect(first?.timeNs).to.equal(BigInt(Date.parse(time)) * 1_000_000n)
      expect({ ...second?.fields }).to.deep.equal({ ...audited, auditID: '8' })
      const event = {
        kind: 'Event',
        involvedObject: { name: 'shop' },
        reason: 'BackOff',
        message: 'again',
        type: 'Warning',
      }
      const listed = records({
        apiVersion: 'v1',
        items: [event, event],
        kind: 'List',
        metadata: { resourceVersion: '' },
      })
      expect(listed.map(({ level, message }) => [level, message])).to.deep.equal([
        ['warn', 'again'],
        ['warn', 'again'],
      ])
      expect({ ...listed[0]?.fields }).to.deep.equal(event)
    })

    it('is a record with a list by the same names elsewhere', () => {
      for (const other of [
        { records: [] },
        { records: [ofAzure, { time }] },
        { records: [ofAzure, 'x'] },
        {
          records: [
            { id: 7, time },
            { id: 8, resourceId: '/a' },
          ],
        },
        { records: [ofAzure], table: 'orders' },
        { records: ofAzure },
        { Records: [{ eventSource: 'aws:sqs', body: 'x' }] },
        { Records: [ofAzure] },
        { Records: [ofTrail], requestId: 'a' },
        { kind: 'List', apiVersion: 'v1', items: [{ kind: 'Pod', metadata: { name: 'shop' } }] },
        { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', items: [{ auditID: '7' }] },
        { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', items: [] },
        { items: [{ auditID: '7', stage: 'Panic' }] },
        { ls: [{ timestamp: 7, line: 'x' }] },
        { e: 'ls', ls: [{ timestamp: 7, line: 'x' }, { timestamp: 7 }] },
        { e: 'ls', ls: [{ line: 'x' }] },
        { lines: [{ timestamp: 7, text: 'x' }] },
        { lines: [{ timestamp: 7, line: 'U2' }], stop: 'Zoo' },
        { lines: [] },
        { logEvents: [ofWatch] },
        { logEvents: [ofWatch], logGroup: 'a' },
        { ...group, logEvents: [{ id: '7' }] },
        { ...group, logEvents: [ofWatch], message: 'sent 1 event' },
      ] as const) {
        const found = records(other)
        expect(found, JSON.stringify(other)).to.have.length(1)
        expect({ ...found[0]?.fields }).to.deep.equal(other)
      }
    })

    it('that was kept as a record stays one', () => {
      const kept = write({ records: [ofAzure, ofAzure] })
      expect(decodeLogs(kept, contentType, { receivedAt, limits: defaults })).to.have.length(1)
    })
  })

  describe(`bodies of OTLP sent as logs, ${contentType}`, () => {
    for (const [list, told] of [
      ['resourceLogs', 'send logs as JSON records'],
      ['resource_logs', 'send logs as JSON records'],
      ['resourceMetrics', 'metrics are not taken'],
      ['resourceSpans', 'traces go to /api/traces/v1/otlp'],
      ['resource_spans', 'traces go to /api/traces/v1/otlp'],
    ] as const) {
      it(`${list} is refused, and told where it belongs`, () => {
        const scanned = scan({ [list]: [{ resource: {}, scopeLogs: [] }] })
        expect(!scanned.ok && scanned.error.code).to.equal('invalid_body')
        expect(!scanned.ok && scanned.error.detail)
          .to.include(list)
          .and.to.include(told)
      })
    }

    it('a record may have a field of that name', () => {
      expect(records({ message: 'm', resourceLogs: [1] })).to.have.length(1)
    })
  })

  describe(`a push to Grafana Loki sent as logs, ${contentType}`, () => {
    // As pino-loki 3.0.0 writes it, with `endpoint: '/api/logs/v1/ingest'`.
    const line = '{"level":40,"time":1795980719205,"pid":20871,"msg":"declined"}'
    const streams = [{ stream: { level: 'warning', application: 'shop' }, values: [['1795980719205000000', line]] }]

    it('is refused: it was one record without a message, however many lines are in it', () => {
      const scanned = scan({ streams })
      expect(!scanned.ok && scanned.error.code).to.equal('invalid_body')
      expect(!scanned.ok && scanned.error.detail)
        .to.include('Grafana Loki')
        .and.to.include('send logs as JSON records')
    })

    it('a record may have such a list beside others, or a simpler one', () => {
      for (const body of [
        { message: 'm', streams },
        { level: 'info', streams },
        { id: 7, streams },
      ]) {
        expect(records(body)).to.have.length(1)
      }
      for (const list of [[], ['a'], [{ name: 'a', tags: ['b'] }]]) expect(records({ streams: list })).to.have.length(1)
    })

    it('one of several records may be no more than such a list: the others would be lost with it', () => {
      const body = Buffer.concat([{ streams }, { message: 'm' }].map((record) => write(record)))
      const scanned = scanLogs(body, contentType, defaults)
      expect(scanned.ok && scanned.value.records).to.equal(2)
    })
  })
}

describe('wrappers of MessagePack', () => {
  it('hold records as those of JSON do, pairs of time and map too', () => {
    for (const logs of [[{ a: 1 }, { a: 2 }], [[5, { a: 1 }], { a: 2 }], [{ logs: [{ a: 1 }] }]]) {
      const scanned = scanLogs(encode({ logs }), msgpack, defaults)
      expect(scanned.ok && scanned.value.records).to.equal(logs.length)
      const { payload } = scanned.ok ? scanned.value : expect.fail()
      expect(decodeLogs(payload, msgpack, { receivedAt, limits: defaults })).to.have.length(logs.length)
    }
    const empty = scanLogs(encode({ logs: [] }), msgpack, defaults)
    expect(empty.ok && empty.value.total).to.equal(0)
    const both = scanLogs(encode({ logs: [{}], events: [{}] }), msgpack, defaults)
    expect(!both.ok && both.error.code).to.equal('invalid_body')
  })

  it('that were kept as a record stay one', () => {
    const kept = encode({ logs: [{ a: 1 }, { a: 2 }] })
    expect(decodeLogs(kept, msgpack, { receivedAt, limits: defaults })).to.have.length(1)
  })

  it('bear more records than a batch may have no better than lists do', () => {
    const logs = Array.from({ length: 4 }, () => ({}))
    const scanned = scanLogs(encode({ logs }), msgpack, { ...defaults, recordsPerBatchMax: 3 })
    expect(!scanned.ok && scanned.error.code).to.equal('payload_too_large')
  })
})
