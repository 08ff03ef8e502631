import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

// What loggers send is in the golden bodies (test/golden/logs: google-cloud-winston, mezmo, splunk-logging, winston-splunk).

const traceId = '5759e988bd862e3fe1be46a994272793'
const spanId = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${spanId}-01`
const receivedAt = 1_800_000_000_000

const one = (sent: unknown): LogRecord =>
  decodeLogs(Buffer.from(JSON.stringify(sent)), 'application/json', { receivedAt, limits })[0] as LogRecord

describe("what loggers write for one maker's collector", () => {
  const nothing = { level: null, message: '', service: null, traceId: null, spanId: null }

  it("is an event of Splunk's, whatever it has as its message", () => {
    const told = { level: 'error', message: 'declined', service: 'shop', traceId, spanId }
    const ids = { trace_id: traceId, span_id: spanId }
    for (const event of [
      { severity: 'error', msg: 'declined', service: 'shop', ...ids },
      { severity: 'error', message: { text: 'declined', order: 7, service: 'shop', ...ids } },
      { level: 'ERROR', message: { msg: 'declined', meta: { level: 'error', service: 'shop', ...ids } } },
    ])
      expect(one({ time: '1796060454.743', host: 'vm', event }), JSON.stringify(event)).to.include(told)
    const datadog = { trace_id: '6592786413246273171', span_id: '1234567890123456' }
    const inHex = { traceId: '00000000000000005b7e48501190d693', spanId: '000462d53c8abac0' }
    for (const event of [
      { level: 50, message: 'declined', dd: datadog },
      { level: 50, message: { text: 'declined', 'dd.trace_id': datadog.trace_id, 'dd.span_id': datadog.span_id } },
    ])
      expect(one({ event }), JSON.stringify(event)).to.include({ level: 'error', message: 'declined', ...inHex })
    expect(one({ event: { severity: 50, message: { level: 'warn', traceparent } } })).to.include({
      level: 'warn',
      traceId,
      spanId,
    })
    expect(one({ event: { message: { order: 7 } } }).message).to.equal('{"order":7}')
    for (const event of [{ order: 7 }, { level: 12, name: 'level_up' }]) expect(one({ event })).to.include(nothing)
  })

  it('is told by what stands beside it: the same names say nothing in others’ records', () => {
    const event = { message: 'x', level: 'error', service: 'shop', trace_id: traceId }
    for (const sent of [
      { event, user: 7 },
      { line: 'U2', app: 'transit' },
      { line: 'U2', timestamp: 1_796_060_454_743 },
      { line: 7, timestamp: 1_796_060_454_743, app: 'shop', service: '-' },
      { 'logging.googleapis.com/insertId': 'a' },
    ])
      expect(one(sent), JSON.stringify(sent)).to.include({ ...nothing, service: one(sent).service })
    const inSource = { timestamp: 1_796_060_454_743, level: 'error', file: 'pay.py', line: '42', error: 'declined' }
    expect(one(inSource)).to.include({ message: 'declined', level: 'error' })
    expect(one({ ...inSource, line: 'card 42' }).message).to.equal('card 42')
    const said = { message: 'x', serviceContext: { service: 'shop' } }
    expect(one({ message: said })).to.include({ message: JSON.stringify(said), service: null })
    expect(one({ 'logging.googleapis.com/insertId': 'a', message: { order: 7 } }).message).to.equal('{"order":7}')
  })

  it('comes after what a record says by the usual names', () => {
    const event = { message: 'x', severity: 'error' }
    const fields = { service: 'shop' }
    expect(one({ time: 1_796_060_454, fields, event: { ...event, service: 'other' } }).service).to.equal('shop')
    const line = { line: 'x', timestamp: 1_796_060_454_743, app: 'shop', message: 'told' }
    expect(one(line)).to.include({ message: 'told', service: 'shop' })
  })
})
