import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

// What servers and clouds write as it is stands in the golden bodies (test/golden/logs: servers, kubernetes, google-cloud-entries, heroku).

const receivedAt = 1_800_000_000_000
const arrival = BigInt(receivedAt) * 1_000_000n
const traceId = '5759e988bd862e3fe1be46a994272793'
const time = '2026-11-29T22:16:44.304Z'
const timeNs = BigInt(Date.parse(time)) * 1_000_000n

const one = (sent: unknown, type = 'application/json'): LogRecord =>
  decodeLogs(Buffer.from(typeof sent === 'string' ? sent : JSON.stringify(sent)), type, {
    receivedAt,
    limits,
  })[0] as LogRecord

describe('what servers and clouds write in a way of their own', () => {
  it('is told by what stands beside it: the same names say nothing in others’ records', () => {
    const nothing = { timeNs: arrival, level: null, message: '', service: null, traceId: null, spanId: null }
    for (const sent of [
      { start_time: time, duration: 10 },
      { start_time: 'noon', response_flags: '-' },
      { started_at: receivedAt - 1_000 },
      { started_at: time, latencies: {} },
      { lastTimestamp: time, reason: 'none' },
      { eventTime: time, eventName: 'party' },
      { stageTimestamp: time, stage: 2 },
      { textPayload: 'x', insertId: 'a' },
      { jsonPayload: { message: 'x', level: 'error' }, logName: 'a' },
      { trace: `projects/shop/traces/${traceId}` },
      { resource: { labels: { service_name: 'shop' } } },
      { properties: { message: 'x' }, resourceId: '/a' },
      { resultDescription: 'x', category: 'shoes', resourceId: 'shoe-7' },
      { Body: 'x' },
      { Body: null, SeverityText: 'ERROR' },
      { involvedObject: { kind: 'Pod' }, type: 'Warning' },
      { ts: receivedAt, caller: 'main.go:1', note: 'x' },
      { SeverityText: 'ERROR', ServiceName: 'shop' },
      { type: 'Warning', reason: 'rain' },
      { prio: 1, label: 'Error' },
      { err_code: 7, prio: 1 },
      { err_code: null, prio: 1, label: 'Error' },
      { trace_id: { b3: traceId } },
      { Type: 'Apple', AppRoleName: 'shop', SeverityLevel: 3 },
      { Type: 'AppTraces', SeverityLevel: 3 },
      { AppRoleName: 'shop', OperationId: traceId, SeverityLevel: 3 },
      { projectName: 'shop', source: 'lambda' },
      { record: 'x', type: 'function' },
      { record: 'x', type: 'sale', at: time },
      { record: { level: 'error' }, type: 'function' },
      { logGroup: '/aws/lambda/shop' },
      { logGroup: 'shop', logStream: '7' },
      { logGroup: '/aws/lambda/', logStream: '7' },
    ]) {
      expect(one(sent), JSON.stringify(sent)).to.include(nothing)
    }
    for (const sent of [
      { caller: 'main.go:1', msg: 'x' },
      { ts: time, caller: 'main.go:1', msg: 'x' },
      { ts: 1_795_740_394.7, caller: 'main.go:1', msg: 'x' },
      { ts: receivedAt, caller: '+4930901820', msg: 'x' },
      { ts: receivedAt, caller: 'main.go:1', msg: 'x', L: 'INFO' },
    ]) {
      expect(one(sent), JSON.stringify(sent)).to.include({ level: null, message: 'x' })
    }
  })

  it('comes after what a record says by the usual names', () => {
    const usual = { level: 'warn', message: 'told', service: 'shop', trace_id: traceId, time }
    for (const sent of [
      { Body: 'x', SeverityText: 'ERROR', ServiceName: 'other' },
      {
        insertId: 'a',
        logName: 'b',
        textPayload: 'x',
        trace: 'ab'.repeat(16),
        resource: { labels: { service_name: 'x' } },
      },
      { resourceId: '/a', category: 'b', properties: { message: 'x' } },
      { start_time: '2020-01-01T00:00:00Z', response_flags: '-' },
      { involvedObject: {}, reason: 'x', type: 'Normal', eventTime: '2020-01-01T00:00:00Z' },
    ]) {
      const record = one({ ...usual, ...sent })
      expect(record, JSON.stringify(sent)).to.include({
        level: 'warn',
        message: 'told',
        service: 'shop',
        traceId,
        timeNs,
      })
    }
  })

  it('is what Application Insights says of the span in which it was said, or of the span itself', () => {
    const [Id, ParentId] = ['00f067aa0ba902b7', 'b9c7c989f97918e1']
    const row = { time, Type: 'AppTraces', AppRoleName: 'shop', OperationId: traceId, ParentId }
    for (const [SeverityLevel, level] of ['debug', 'info', 'warn', 'error', 'fatal', null].entries())
      expect(one({ ...row, Message: 'paid', SeverityLevel })).to.include({ level, message: 'paid', spanId: ParentId })
    expect(one({ ...row, Type: 'AppRequests', Id })).to.include({ traceId, spanId: Id, service: 'shop', timeNs })
    for (const name of ['OuterMessage', 'InnermostMessage'])
      expect(one({ ...row, [name]: 'declined' }).message, name).to.equal('declined')
  })

  it('is a level by numbers that elsewhere are others: of Azure, and of what funcr tells in Go', () => {
    const signIn = { time, resourceId: '/tenants/7/providers/Microsoft.aadiam', category: 'SignInLogs' }
    const ofAzure = [0, 1, 2, 3, 4, 5, 6].map((Level) => one({ ...signIn, Level }).level)
    expect(ofAzure).to.deep.equal([null, 'fatal', 'error', 'warn', 'info', 'debug', null])
    expect(one({ ...signIn, Level: '2' }).level).to.equal('error')
    expect(one({ ...signIn, level: 'Informational' }).level).to.equal('info')
    const funcr = { logger: 'shop', ts: '2026-11-29 22:16:44.304000', caller: { file: 'main.go', line: 23 }, msg: 'm' }
    expect(one({ ...funcr, error: 'declined', order: 7 })).to.include({ level: 'error', message: 'm', timeNs })
    expect(one({ ...funcr, error: null }).level).to.equal('error')
    expect([0, 1, 4].map((level) => one({ ...funcr, level, error: 'x' }).level)).to.deep.equal([
      'info',
      'debug',
      'debug',
    ])
    expect(one(funcr).level).to.equal(null)
    expect(one({ ...funcr, level: 'none of ours' }).level).to.equal(null)
    expect([false, 0, {}].map((error) => one({ ...funcr, error }).level)).to.deep.equal([null, null, null])
    for (const own of [{ resourceId: '/orders/7', category: 'billing', msg: 'm' }, funcr])
      expect([20, 30, 40, '50', 60].map((level) => one({ ...own, level }).level)).to.deep.equal([
        ...['debug', 'info', 'warn', 'error', 'fatal'],
      ])
    for (const other of [
      { ...funcr, caller: 'main.go:23' },
      { ...funcr, logger: undefined },
      { ...funcr, caller: {} },
    ])
      expect([one({ ...other, error: 'x' }).level, one({ ...other, level: 1 }).level]).to.deep.equal([null, 'trace'])
    expect(one({ time, resourceId: 'a', category: 'b', Level: 4 }).level).to.equal('trace')
  })

  it('is a trace and its span, or the name of a field that a store gives every message', () => {
    const [trace, span] = [traceId, '00f067aa0ba902b7']
    const ofGoZero = { '@timestamp': time, level: 'error', caller: 'a.go:1', content: 'declined', trace, span }
    expect(one(ofGoZero)).to.include({ level: 'error', message: 'declined', timeNs, traceId, spanId: span })
    for (const sent of [{ trace }, { trace, span: 'x' }, { trace: 'at main.go:1', span }, { trace: 7, span }]) {
      expect(one(sent), JSON.stringify(sent)).to.include({ traceId: null, spanId: null })
    }
    expect(one({ _time: time, _msg: 'declined', level: 'warn' })).to.include({ message: 'declined', level: 'warn' })
    expect(one({ _msg: 7 }).message).to.equal('')
  })

  it('is a time of the day beside its date, and nothing where it is none', () => {
    const date = '2026-11-29'
    const midnight = BigInt(Date.parse(date)) * 1_000_000n
    expect(one({ date, time: '22:16:44.304' }).timeNs).to.equal(timeNs)
    expect(one({ date: `${date}T22:16:44.304Z`, time: '01:02:03' }).timeNs).to.equal(timeNs)
    expect(one({ date, time }).timeNs).to.equal(timeNs)
    for (const other of ['noon', '22:16', '25:00:00', 7, null]) {
      const record = one({ date, time: other })
      expect([midnight, arrival, 7_000_000_000n], JSON.stringify(other)).to.include(record.timeNs)
    }
  })

  it('is a trace in the header of AWS X-Ray, in a field and in a line', () => {
    const root = 'Root=1-5759e988-bd862e3fe1be46a994272793'
    for (const header of [root, `${root};Parent=00f067aa0ba902b7;Sampled=1`]) {
      expect(one({ trace_id: header }).traceId, header).to.equal(traceId)
    }
    for (const line of [
      `https 2026-11-29T22:16:44.304Z app/lb/1 10.0.0.1:1 - 502 "GET https://x:443/ HTTP/1.1" "${root}" "x" "-"`,
      `app/lb/1 "Self=1-67891234-12456789abcdef0123456789;${root}" "x"`,
      'REPORT RequestId: 8f Duration: 7 ms XRAY TraceId: 1-5759e988-bd862e3fe1be46a994272793 Sampled: true',
    ]) {
      expect(one(line, 'text/plain').traceId, line).to.equal(traceId)
    }
    for (const line of ['Root=1-5759e988-bd86', 'order 1-5759e988-bd862e3fe1be46a994272793', `${root}-1`]) {
      expect(one(line, 'text/plain').traceId, line).to.equal(null)
    }
  })

  it('is the priority of a line of syslog behind its length', () => {
    const line = '<131>1 2026-11-29T22:16:44+00:00 host heroku web.1 - Process exited'
    expect(one(`70 ${line}`, 'text/plain').level).to.equal('error')
    expect(one(`7 items ${line}`, 'text/plain').level).to.equal(null)
  })

  it('is found in lines that a container has printed', () => {
    const line = { Timestamp: time, SeverityText: 'ERROR', SeverityNumber: 17, Body: 'declined', TraceId: traceId }
    expect(one({ log: JSON.stringify(line), stream: 'stdout' })).to.include({
      level: 'error',
      message: 'declined',
      timeNs,
      traceId,
    })
    expect(one({ Timestamp: time, SeverityNumber: 13, Body: { order: 7 } })).to.include({
      level: 'warn',
      message: '{"order":7}',
    })
  })

  it('is found by each of the names that they have for it', () => {
    const entry = { insertId: 'a', logName: 'b' }
    for (const name of ['service_name', 'function_name', 'container_name', 'module_id'])
      expect(one({ ...entry, resource: { labels: { [name]: 'shop' } } }), name).to.include({ service: 'shop' })
    for (const name of ['message', 'msg'])
      expect(one({ ...entry, jsonPayload: { [name]: 'told' } }), name).to.include({ message: 'told' })
    for (const name of ['level', 'severity'])
      expect(one({ ...entry, jsonPayload: { [name]: 'error' } }), name).to.include({ level: 'error' })
    const row = { Body: 'told', SeverityText: 'ERROR' }
    for (const service of [
      { ServiceName: 'shop' },
      { Resource: { 'service.name': 'shop' } },
      { ResourceAttributes: { 'service.name': 'shop' } },
    ])
      expect(one({ ...row, ...service })).to.include({ level: 'error', message: 'told', service: 'shop' })
    for (const properties of [{ message: 'told' }, { log: 'told' }])
      expect(one({ resourceId: '/a', category: 'b', properties })).to.include({ message: 'told' })
  })
})
