import { FetchTransport, initializeFaro, LogLevel, type Faro } from '@grafana/faro-web-sdk'
import { FaroTraceExporter } from '@grafana/faro-web-tracing'
import { TracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { startReceiver, type Receiver } from '#test/wire/logs/receiver.ts'
import { decodeRum } from '#src/wire/rum/decode.ts'
import { scanRum } from '#src/wire/rum/scan.ts'

describe('Grafana Faro as published', () => {
  let receiver: Receiver
  let faro: Faro
  before(async () => {
    receiver = await startReceiver(202)
    faro = initializeFaro({
      app: { name: 'shop-web', version: '1.4.0' },
      instrumentations: [],
      transports: [new FetchTransport({ url: receiver.url, apiKey: 'pk_live_x' })],
      isolate: true,
      preventGlobalExposure: true,
      batching: { enabled: true, sendTimeout: 1 },
      metas: [{ session: { id: 'session-1' }, page: { url: 'https://shop.example/' } }],
    })
  })
  after(async () => {
    faro.pause()
    await receiver.close()
  })

  it('sends logs, exceptions, events and measurements that are all found', async () => {
    const spanContext = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
    faro.api.pushLog(['hello', 'there'], { level: LogLevel.WARN, context: { a: '1' }, spanContext })
    faro.api.pushError(new TypeError('bad'))
    faro.api.pushEvent('click', { button: 'buy' })
    faro.api.pushMeasurement({ type: 'web-vitals', values: { lcp: 1.5 } })
    const { headers, body } = await receiver.request((request) => request.body.includes('measurements'))
    const scanned = scanRum(body, headers['content-type'], limits)
    if (!scanned.ok) throw new Error(scanned.error.detail)
    expect(scanned.value.counts).to.deep.equal({ logs: 1, exceptions: 1, events: 1, measurements: 1, spans: 0 })
    expect(scanned.value.dated(), 'an equal body is the same one again').to.equal(true)
    const found = decodeRum(scanned.value.cut({}), 'application/json', { receivedAt: 0, limits })
    expect(found.logs.map(({ level, message }) => [level, message])).to.deep.equal([
      ['warn', 'hello there'],
      ['error', 'TypeError: bad'],
    ])
    expect(found.logs[0]).to.include({ ...spanContext, service: 'shop-web', sessionId: 'session-1' })
    expect(found.rumEvents.map(({ type, name, url }) => [type, name, url])).to.deep.equal([
      ['event', 'click', 'https://shop.example/'],
      ['measurement', 'web-vitals', 'https://shop.example/'],
    ])
    expect(Number((found.logs[0]?.timeNs ?? 0n) / 1_000_000n)).to.be.closeTo(Date.now(), 60_000)
  })

  it('sends spans as OTLP JSON, in the session of the page', async () => {
    const exporter = new FaroTraceExporter({ api: faro.api })
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
    const span = provider.getTracer('test').startSpan('HTTP GET', { attributes: { n: 7 } })
    span.end()
    await provider.forceFlush()
    const { headers, body } = await receiver.request((request) => request.body.includes('resourceSpans'))
    const scanned = scanRum(body, headers['content-type'], limits)
    if (!scanned.ok) throw new Error(scanned.error.detail)
    expect([scanned.value.counts.spans, scanned.value.rejected]).to.deep.equal([1, []])
    const found = decodeRum(scanned.value.cut({}), 'application/json', { receivedAt: 0, limits }).spans[0]
    const { traceId, spanId } = span.spanContext()
    expect(found).to.include({ traceId, spanId, name: 'HTTP GET', sessionId: 'session-1' })
    expect({ ...found?.attributes }).to.deep.equal({ n: 7 })
    await provider.shutdown()
  })
})
