import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

/** The record that an object becomes. */
function one(record: unknown): LogRecord {
  const [found] = decodeLogs(Buffer.from(stringifyJson(record)), 'application/json', { receivedAt: 0, limits })
  return found as LogRecord
}

/** `a.b.c` as `{a: {b: {c: value}}}`. */
const nested = (name: string, value: unknown): unknown =>
  name.split('.').reduceRight((inner: unknown, part) => ({ [part]: inner }), value)

describe('names of what a log record says', () => {
  const time = '2026-11-21T07:57:00.123456789Z'
  const timeNs = 1_795_247_820_123_456_789n
  const table: Readonly<
    Record<string, readonly [names: string, value: unknown, read: (record: LogRecord) => unknown, expected: unknown]>
  > = {
    time: [
      `timestamp @timestamp time ts dt date datetime _time created @t asctime instant timeMillis
      record.time.timestamp ISODATE __REALTIME_TIMESTAMP Timestamp`,
      time,
      (record) => record.timeNs,
      timeNs,
    ],
    level: [
      `level severity severity_text severityText log.level levelname lvl loglevel @l record.level.name
      level_name Level LogLevel @level error_severity context.logLevel level.label
      log_level logLevel Severity`,
      'WARNING',
      (record) => record.level,
      'warn',
    ],
    message: [
      `formattedMessage message msg body log text short_message event content @m @mt fields.message MESSAGE
      RenderedMessage Message MessageTemplate @message messages`,
      'hello',
      (record) => record.message,
      'hello',
    ],
    trace: [
      `trace_id traceId TraceId trace.id otelTraceID dd.trace_id @tr _trace_id contextMap.trace_id mdc.trace_id
      contextMap.traceId mdc.traceId fields.trace_id context.trace_id extra.trace_id meta.trace_id record.extra.trace_id
      _traceId traceID logging.googleapis.com/trace properties.trace_id metadata.trace_id metadata.traceId xray_trace_id
      openTelemetry.traceId span.trace_id TraceID traceid trace-id diags.trace_id`,
      traceId,
      (record) => record.traceId,
      traceId,
    ],
    span: [
      `span_id spanId span.id otelSpanID @sp _span_id contextMap.span_id mdc.span_id
      contextMap.spanId mdc.spanId fields.span_id context.span_id extra.span_id meta.span_id record.extra.span_id
      _spanId spanID logging.googleapis.com/spanId properties.span_id metadata.span_id metadata.spanId
      openTelemetry.spanId span.span_id SpanID spanid span-id diags.span_id`,
      spanId,
      (record) => record.spanId,
      spanId,
    ],
    session: [
      'session_id sessionId session.id rum.sessionId faro.session.id @fields.session_id',
      's-1',
      (record) => record.sessionId,
      's-1',
    ],
    service: [
      `service service.name service_name app application record.extra.service CONTAINER_NAME SYSLOG_IDENTIFIER PROGRAM
      otelServiceName dd.service serviceContext.service resource.service.name resource.attributes.service.name appname
      programname ident kubernetes.labels.app.kubernetes.io/name kubernetes.labels.app_kubernetes_io/name
      kubernetes.labels.app kubernetes.pod_labels.app.kubernetes.io/name kubernetes.pod_labels.app
      kubernetes.container_name kubernetes.container.name container_name container.name`,
      'shop',
      (record) => record.service,
      'shop',
    ],
  }
  for (const [what, [names, value, read, expected]] of Object.entries(table)) {
    const list = names.split(/\s+/)
    it(`finds the ${what} under each of its names, dotted and nested`, () => {
      for (const name of list) {
        expect(read(one({ [name]: value })), name).to.equal(expected)
        expect(read(one(nested(name, value))), name).to.equal(expected)
      }
    })
    it(`believes the first name of the ${what} that is not empty`, () => {
      for (const [index, name] of list.entries()) {
        const before = Object.fromEntries(
          list.slice(0, index).map((name, place) => [name, place % 2 === 0 ? '' : null]),
        )
        const behind = Object.fromEntries(
          list.slice(index + 1).map((name) => [name, what === 'time' ? '1999-01-01' : `${String(value)}9`]),
        )
        expect(read(one({ ...behind, [name]: value, ...before })), name).to.equal(expected)
      }
    })
  }

  it('finds partly nested names', () => {
    expect(one({ faro: { 'session.id': 's' } }).sessionId).to.equal('s')
    expect(one({ 'faro.session': { id: 's' } }).sessionId).to.equal('s')
    expect(one({ 'trace.id': '', trace: { id: traceId } }).traceId).to.equal(null)
  })

  it('does not take objects for services, nor other names', () => {
    expect(one({ ts: 1, level: { label: 'warn', value: 40 }, messages: ['no', 'card'] })).to.include({
      message: 'no card',
      level: 'warn',
    })
    expect(one({ messages: ['no', { card: 7 }, 'card'] }).message).to.equal('no card')
    expect(one({ messages: [{ role: 'user', content: 'hello' }] }).message).to.equal('')
    expect(one({ service: { name: 'shop', version: '1' } }).service).to.equal('shop')
    expect(one({ app: { name: 'x' }, application: 'y' }).service).to.equal('y')
    expect(one({ container_name: '/shop', appname: '-' }).service).to.equal('shop')
    expect(one({ CONTAINER_NAME: 'shop', SYSLOG_IDENTIFIER: '3f2a9c0b1d2e' }).service).to.equal('shop')
    expect(one({ container_name: 'c', kubernetes: { labels: { 'app.kubernetes.io/name': 'shop' } } }).service).to.equal(
      'shop',
    )
    expect(one({ service: 'x'.repeat(5_000) }).service).to.equal('x'.repeat(1_024))
    expect(one({ mESSAGE: 'x', LEVEL: 'info', toString: 'x' })).to.include({
      message: '',
      level: null,
      service: null,
    })
  })
})
