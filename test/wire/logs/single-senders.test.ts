import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

const receivedAt = 1_800_000_000_000
const arrival = BigInt(receivedAt) * 1_000_000n
const traceId = '5759e988bd862e3fe1be46a994272793'
const spanId = '00f067aa0ba902b7'
const time = '2026-11-29T22:16:44.304Z'
const timeNs = BigInt(Date.parse(time)) * 1_000_000n

/** The record that an object becomes; what was sent stays as it was, and nothing in it was changed. */
function one(sent: Readonly<Record<string, unknown>>): LogRecord {
  const [record] = decodeLogs(Buffer.from(JSON.stringify(sent)), 'application/json', { receivedAt, limits })
  expect(JSON.parse(JSON.stringify(record?.fields))).to.deep.equal(sent)
  expect(record?.cuts).to.deep.equal([])
  return record as LogRecord
}

const ofText = (text: string): LogRecord =>
  decodeLogs(Buffer.from(text), 'text/plain', { receivedAt, limits })[0] as LogRecord

describe('what single loggers write in a way of their own', () => {
  it('is the service of GELF by a name that is not its own, and of NXLog with the time', () => {
    const gelf = { version: '1.1', host: 'web-1', short_message: 'm', timestamp: 1_795_945_602.08, level: 3 }
    expect(one({ ...gelf, _service: 'shop', _container_name: 'shop-1' }).service).to.equal('shop')
    expect(one({ ...gelf, _container_name: 'shop-1' }).service).to.equal('shop-1')
    const nxlog = { EventTime: time, Severity: 'ERROR', SourceName: 'shop', SourceModuleName: 'in', Message: 'm' }
    expect(one(nxlog)).to.include({ timeNs, level: 'error', service: 'shop', message: 'm' })
  })

  it("is what stands among the fields of Logstash's first format, as winston writes it, and among the labels of Google's loggers", () => {
    const fields = { level: 'warn', service: 'shop', session_id: 's-1', span_id: spanId, trace_id: traceId }
    const sent = { '@fields': fields, '@message': 'm', '@timestamp': time }
    const { level, service, session_id: sessionId } = fields
    expect(one(sent)).to.include({ timeNs, level, service, sessionId, traceId, spanId, message: 'm' })
    expect(one({ '@fields': { traceId, spanId }, '@message': 'm' })).to.include({ traceId, spanId, level: null })
    expect(one({ '@fields': 'trace', '@message': 'm' })).to.include({ traceId: null, service: null })
    const labelled = { severity: 'INFO', message: 'm', 'logging.googleapis.com/labels': { service: 'shop' } }
    expect(one(labelled).service).to.equal('shop')
    expect(one({ ...labelled, serviceContext: { service: 'pay' } }).service).to.equal('pay')
  })

  it('is the message of LogTape: texts and values in turn, told by its category and its template', () => {
    const sent = { category: ['shop'], level: 'info', message: ['of ', 7, ''], rawMessage: 'of {id}', properties: {} }
    expect(one(sent).message).to.equal('of 7')
    expect(one({ ...sent, rawMessage: ['of ', ''] }).message).to.equal('of 7')
    for (const other of [
      { ...sent, rawMessage: undefined },
      { ...sent, category: 'shop' },
      { ...sent, message: [7, 'of '] },
      { ...sent, message: ['of ', 7] },
    ])
      expect(one(JSON.parse(JSON.stringify(other))).message).to.equal(JSON.stringify(other.message))
  })

  it("is the time, level and program of katip and ClickHouse, the program of PM2 and of New Relic's agents", () => {
    const katip = {
      app: ['shop', 'pay'],
      at: time,
      data: {},
      env: 'prod',
      msg: 'm',
      ns: ['shop', 'pay', 'card'],
      sev: 'Critical',
    }
    expect(one(katip)).to.include({ timeNs, level: 'fatal', service: 'shop.pay', message: 'm' })
    const clickhouse = { level: 'Error', query_id: '', logger_name: 'executeQuery', message: 'm' }
    expect(one({ event_time: '2026-11-29 22:16:44', event_time_microseconds: '2026-11-29 22:16:44.304000', ...clickhouse })).to.include({ timeNs }) // prettier-ignore
    expect(one({ event_time: '2026-11-29 22:16:44', ...clickhouse }).timeNs).to.equal(timeNs - 304_000_000n)
    const pm2 = { message: 'm', timestamp: time, type: 'err', process_id: 0, app_name: 'shop' }
    expect(one(pm2)).to.include({ timeNs, level: null, service: 'shop' })
    const agent = { message: 'm', timestamp: time, 'entity.guid': 'MzU', 'entity.name': 'shop', 'trace.id': traceId }
    expect(one(agent)).to.include({ timeNs, service: 'shop', traceId })
    const unconnected = { message: 'm', 'entity.name': 'shop', 'entity.type': 'SERVICE' }
    expect(one(unconnected).service, 'no id before the agent is connected').to.equal('shop')
  })

  it('is told by what stands beside it: the same names say nothing in others’ records', () => {
    const nothing = { timeNs: arrival, level: null, message: '', service: null, traceId: null, spanId: null }
    for (const sent of [
      { L: 'XL', M: 'shirt', T: time },
      { at: time, sev: 'Error', app: ['shop'] },
      { at: time, sev: 'Error', ns: ['shop'] },
      { event_time: time, query_id: 'q' },
      { process_id: 7, app_name: 'shop', type: 'cron' },
      { 'entity.name': 'shop' },
      { 'entity.name': 'shop', 'entity.type': 'HOST' },
      { entity: { name: 'shop', type: 'SERVICE' } },
      { levelname: 'Level up' },
      { level: 'Level 40' },
      { status: 'Level 40' },
      { L: 'INFO', M: 7, T: time },
      { T: time },
      { t: time, level: 'none of ours' },
      { t: 'later', lvl: 'none of ours' },
      { startTime: time, data: ['a'] },
      { categoryName: 'shoes', startTime: time },
      { _meta: { date: time } },
      { written_at: 7, written_ts: 7 },
      { title: 'a book', written_at: '1984-01-01T00:00:00Z' },
      { T: 22.4, L: 'D', M: 'ok' },
      { startTime: '2020-01-01T00:00:00Z', categoryName: 'shoes', data: ['red', 'blue'] },
      { startTime: '2020-01-01T00:00:00Z', categoryName: 'shoes', data: ['red'], level: { name: 'gold' } },
      { type: 'error', tag: 'click', args: ['play', 'song'] },
      { _logMeta: { date: time } },
      { syslog: { timestamp: receivedAt - 1_000 } },
      { EdgeStartTimestamp: time },
      { data: ['a'], variables: { x: 1 } },
      { args: ['a'], type: 'error' },
      { args: ['a'], type: 7, tag: '' },
      { args: 'a', type: 'error', tag: '' },
      { '0': 'a' },
      { program: 'gold' },
      { program: ' ', logsource: 'vm' },
      { program: '-', logsource: 'vm' },
      { Scopes: [{ TraceId: traceId }] },
      { LogLevel: 'none of ours', Scopes: [7, { TraceId: 'x' }] },
      { error: '-', status: 200 },
      { error: true },
      { level: {} },
      { levelno: 0 },
      { syslog: { severity: 9 } },
    ]) {
      expect(one(sent), JSON.stringify(sent)).to.include(nothing)
    }
    for (const t of [`${receivedAt - 1_000}`, [time]]) {
      expect(one({ t, level: 'info', msg: 'x' }), 'a time is written so').to.include({ timeNs: arrival, message: 'x' })
    }
    for (const level of [30, undefined]) {
      expect(one({ t: time, msg: 'x', ...(level && { level }) }).timeNs, 'levels are names').to.equal(arrival)
    }
    expect(one({ variables: 'all', level: 'info', data: ['a'] }).message).to.equal('')
    expect(one({ version: '1.1', message: 'x', level: 3 }).level, 'of GELF is a short_message').to.equal('trace')
  })

  it('is whole: all that was passed, all digits of a time, a name without blanks around it', () => {
    expect(one({ '0': 'card', '1': 7, '2': 'declined', _meta: { logLevelName: 'WARN' } }).message).to.equal(
      'card declined',
    )
    const cloudflare = '{"RayID":"x","EdgeStartTimestamp":1764454604123456789}'
    const [record] = decodeLogs(Buffer.from(cloudflare), 'application/json', { receivedAt, limits })
    expect(record?.timeNs).to.equal(1_764_454_604_123_456_789n)
    expect(one({ program: ' shop ', logsource: 'vm' }).service).to.equal('shop')
    expect(one({ service: ' shop ' }).service).to.equal('shop')
    expect(one({ service: 7 }).service).to.equal('7')
  })

  it('is the trace of the first scope that names one, whatever the others are and the text says', () => {
    const scopes = [null, 7, 'x', { TraceId: 'x' }, { TraceId: traceId, SpanId: spanId }, { TraceId: 'f'.repeat(32) }]
    const sent = { LogLevel: 'Information', Message: `trace_id=${'e'.repeat(32)}`, Scopes: scopes }
    expect(one(sent)).to.include({ traceId, spanId })
  })

  // A record at which the decoding throws is a dead letter, with its whole request; and too many of those end the fold.
  it('is no level where no number can be made of it', () => {
    const inNoWay = { toString: 1, valueOf: 1 }
    for (const level of [inNoWay, [inNoWay], '', []]) {
      const sent = { type: 'buy', tag: '', args: ['a'], date: time, level }
      expect(one(sent), JSON.stringify(sent)).to.include({ timeNs, level: null, message: '' })
    }
  })

  it('comes after what a record says by the usual names', () => {
    const own = { level: 'warn', message: 'own', time, service: 'own', trace_id: traceId, span_id: spanId }
    const read = { level: 'warn', message: 'own', timeNs, service: 'own', traceId, spanId }
    const other = 'ffffffffffffffffffffffffffffffff'
    for (const also of [
      { L: 'ERROR', M: 'other', T: '2020-01-01T00:00:00Z' },
      { error: { message: 'other' }, err: 'other' },
      { data: ['other'], variables: {}, categoryName: 'x', startTime: '2020-01-01T00:00:00Z' },
      { args: ['other'], type: 'error', tag: '' },
      { '0': 'other', _logMeta: { logLevelName: 'ERROR', date: '2020-01-01T00:00:00Z' } },
      { levelno: 50, syslog: { severity: 0, timestamp: '2020-01-01T00:00:00Z' } },
      { program: 'other', logsource: 'vm', fields: { service: 'other' }, extra: { service: 'other' } },
      { LogLevel: 'Error', Scopes: [{ TraceId: other }], xray_trace_id: `1-ffffffff-${'f'.repeat(24)}` },
    ]) {
      expect(one({ ...own, ...also }), JSON.stringify(also)).to.include(read)
    }
  })

  it('is a level by numbers that elsewhere are others', () => {
    const consola = (level: number | null, type: string) => one({ date: time, args: ['x'], type, level, tag: '' }).level
    expect([consola(0, 'fatal'), consola(0, 'error'), consola(1, 'warn')]).to.deep.equal(['fatal', 'error', 'warn'])
    const numbered = [0, 1, 2, 3, 4, 5].map((level) => consola(level, 'mine'))
    expect(numbered).to.deep.equal(['error', 'warn', 'info', 'info', 'debug', 'trace'])
    expect([consola(3, 'box'), consola(0, 'mine'), consola(null, 'verbose')]).to.deep.equal(['info', 'error', 'trace'])
    expect(consola(null, 'mine'), 'Infinity').to.equal('trace')
    expect(one({ message: 'x', level: 3, type: 'error', args: [] }).level).to.equal('trace')
    for (const version of ['1.0', '1.1', 1, 1.1])
      expect(one({ version, short_message: 'x', level: 3 }).level).to.equal('error')
    expect(one({ version: '2', short_message: 'x', level: 3 }).level).to.equal('trace')
    const python = [5, 10, 19, 20, 25, 35, 40, 50, 70].map((levelno) => one({ levelname: 'MINE', levelno }).level)
    expect(python).to.deep.equal(['trace', 'debug', 'debug', 'info', 'info', 'warn', 'error', 'fatal', 'fatal'])
    const unnamed = ['Level 5', 'level 25', 'Level 45', 'Level 0'].map((levelname) => one({ levelname }).level)
    expect(unnamed).to.deep.equal(['trace', 'info', 'error', null])
    expect(one({ 'log.level': 'Level 25', message: 'm' }).level).to.equal('info')
    expect([3, '7', 'notice'].map((severity) => one({ syslog: { severity } }).level)).to.deep.equal([
      'error',
      'debug',
      'info',
    ])
    const elastic = { log: { syslog: { appname: 'shop', severity: { code: 3, name: 'Error' } } }, message: 'x' }
    expect(one(elastic)).to.include({ level: 'error', service: 'shop', message: 'x' })
    expect(one({ _logLevel: 'error', msg: 'x' }).level).to.equal('error')
    const log15 = ['trce', 'dbug', 'info', 'warn', 'eror', 'crit'].map((lvl) => one({ lvl, msg: 'x', t: time }).level)
    expect(log15).to.deep.equal(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])
  })

  it('is no level by a word that elsewhere is no level', () => {
    const others = { type: 'http', tag: 'in', args: ['x'], time, msg: 'failed' }
    expect(one({ ...others, level: 50 })).to.include({ level: 'error', timeNs })
    expect(one({ ...others, level: 3 })).to.include({ level: 'trace', timeNs })
    for (const level of ['slow', 'stat']) {
      expect(one({ level, msg: 'x', '@timestamp': time }).level, level).to.equal(null)
      expect(one({ level, content: 'x' }).level, level).to.equal(null)
    }
    expect(one({ level: 'constructor', content: 'x', '@timestamp': time }).level).to.equal(null)
    const noTask = { action_type: 'x', action_status: 'failed', reason: 'y' }
    expect(one(noTask)).to.include({ level: null, message: '' })
    expect(one({ ...noTask, task_uuid: 'u', task_level: [1], message: 'own', level: 'info' })).to.include({
      ...{ level: 'info', message: 'own' },
    })
  })

  it('is a service in the fields of a shipper, and not in those of an event', () => {
    expect(
      one({ message: 'x', fields: { service: 'shop' }, log: { file: { path: '/var/log/shop' } } }).service,
    ).to.equal('shop')
    const event = { timestamp: time, level: 'INFO', fields: { message: 'calls', service: 'payments' }, target: 'shop' }
    expect(one(event).service).to.equal(null)
    expect(one({ ...event, kubernetes: { container_name: 'shop' } }).service).to.equal('shop')
  })

  it('is the service by which a logger names its program', () => {
    const bunyan = { name: 'shop', hostname: 'vm', pid: 7, level: 40, msg: 'x', time, v: 0 }
    const monolog = { message: 'x', channel: 'pay', extra: [] }
    const leveled = { ...monolog, level: 300, level_name: 'WARNING' }
    const context = { name: 'default', birthdate: receivedAt, properties: {} }
    const logback = { timestamp: receivedAt, level: 'WARN', loggerName: 'Pay', context, message: 'x' }
    for (const named of [
      bunyan,
      { ...leveled, context: { service: 'shop' } },
      { ...monolog, severity: 'WARNING', context: { service: 'shop' } },
      { '@timestamp': time, message: 'x', type: 'shop', channel: 'pay', level: 'WARNING', monolog_level: 300 },
      { ...logback, context: { ...context, properties: { service: 'shop' } } },
      { ...logback, context: { ...context, properties: { 'service.name': 'shop' } } },
      { ...logback, context: { ...context, name: 'shop' } },
      { severity: 'WARN', time, progname: 'shop', message: 'x' },
    ]) {
      expect(one(named).service, JSON.stringify(named)).to.equal('shop')
      expect(one({ ...named, service: 'own' }).service).to.equal('own')
    }
    const { v: _v, ...unversioned } = bunyan
    for (const other of [
      unversioned,
      { ...bunyan, v: 1 },
      { ...bunyan, name: ' ' },
      { name: 'shop', v: 0 },
      leveled,
      { ...leveled, type: 'shop' },
      { message: 'x', level: 300, context: { service: 'payments' } },
      { message: 'x', channel: 'pay', severity: 'WARNING', context: { service: 'payments' } },
      { message: 'x', type: 'shop', monolog_level: 300 },
      logback,
      { message: 'x', context: { name: 'shop', birthdate: receivedAt } },
      { message: 'x', progname: 'shop' },
      { severity: 'WARN', message: 'x', progname: { name: 'shop' } },
      { severity: 'WARN', message: 'x', progname: '-' },
      { severity: 'WARN', message: 'x', progname: '--' },
      { message: 'x', loggerName: 'Pay', context: { name: 'shop', properties: { service: 'shop' } } },
    ]) {
      expect(one(other).service, JSON.stringify(other)).to.equal(null)
    }
  })

  it('is the message of an error where a record has no other', () => {
    expect(one({ error: { name: 'Error', message: 'no card' }, path: '/pay' }).message).to.equal('no card')
    for (const name of ['error.message', 'err.message']) expect(one({ [name]: 'no card' }).message).to.equal('no card')
    expect(one({ level: 'error', err: 'no card' }).message).to.equal('no card')
    expect(one({ level: 'error', error: { code: 7 } }).message).to.equal('')
    for (const none of [' ', '-', '0', 'none', 'null', 'nil', '<nil>', 'False', 'undefined']) {
      expect(one({ level: 'info', status: 200, error: none }).message, none).to.equal('')
    }
    expect(one({ level: 'info', error: '-', err: 'no card' }).message).to.equal('no card')
  })

  it('is what a function of Rust returned as its error, which tracing has without a message', () => {
    const sent = { level: 'ERROR', fields: { error: 'no card' }, target: 'shop', span: { name: 'charge' } }
    expect(one(sent).message).to.equal('no card')
    expect(one({ ...sent, fields: { error: 'no card', message: 'declined' } }).message).to.equal('declined')
    for (const other of [
      { ...sent, target: { name: 'shop' } },
      { ...sent, level: 'none of ours' },
      { ...sent, fields: { error: 'none' } },
    ]) {
      expect(one(other).message, JSON.stringify(other)).to.equal('')
    }
  })

  it('is a trace as AWS X-Ray writes it, by every name', () => {
    for (const name of ['xray_trace_id', 'trace_id', 'traceId']) {
      expect(one({ [name]: '1-5759e988-bd862e3fe1be46a994272793' })).to.include({ traceId })
    }
    for (const wrong of ['2-5759e988-bd862e3fe1be46a994272793', '1-5759e98-bd862e3fe1be46a9942727930', '1-x']) {
      expect(one({ xray_trace_id: wrong }).traceId, wrong).to.equal(null)
    }
  })

  it('is the priority of a line of syslog that tells no level otherwise', () => {
    const at = '2026-11-26T20:56:24+00:00'
    expect(ofText(`<131>1 ${at} web-1 shop 12 - - declined`).level).to.equal('error')
    expect(ofText(`<30>${at} web-1 shop[12]: up`).level).to.equal('info')
    expect(ofText(`<191>${at} web-1 shop[12]: up`).level, 'the last there is').to.equal('debug')
    expect(ofText('<12>Nov  6 20:56:24 web-1 shop: slow').level).to.equal('warn')
    expect(ofText(`<30>1 ${at} web-1 shop 12 - - ERROR: declined`).level).to.equal('error')
    for (const line of ['<131> items', '<192>Nov 26 20:56:24 web-1 shop: up', '<b>Nov 26</b>']) {
      expect(ofText(line).level, line).to.equal(null)
    }
  })

  it('is found in lines that a container has printed', () => {
    const lineOf = (line: unknown) => {
      const sent = JSON.stringify({ log: JSON.stringify(line), stream: 'stdout' })
      return decodeLogs(Buffer.from(sent), 'application/json', { receivedAt, limits })[0] as LogRecord
    }
    expect(lineOf({ L: 'WARN', T: time, M: 'declined' })).to.include({ level: 'warn', message: 'declined', timeNs })
    expect(lineOf({ '0': 'declined', _meta: { logLevelName: 'WARN', date: time } })).to.include({
      level: 'warn',
      message: 'declined',
      timeNs,
    })
    // What a program prints may be any JSON: an answer that tells of an error is no record of one.
    const answer = { timestamp: time, status: 500, error: 'Internal Server Error' }
    expect(lineOf(answer)).to.include({ message: JSON.stringify(answer), level: null, timeNs: arrival })
  })
})
