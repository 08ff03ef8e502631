// A customer's program: makes spans with the OpenTelemetry SDK and sends them by an exporter's ordinary settings.
// argv: proto|json gzip|none URL TOKEN COUNT; prints a line of JSON a span, of what the SDK recorded.
import { context as active, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtoExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { recordedSpan } from './recorded-span.ts'

const [encoding = '', compression = '', url = '', token = '', count = '10'] = process.argv.slice(2)
const settings = {
  url,
  headers: { Authorization: `Bearer ${token}` },
  compression: compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
}
const exporter = encoding === 'proto' ? new ProtoExporter(settings) : new JsonExporter(settings)
const memory = new InMemorySpanExporter()
const provider = new TracerProvider({
  resource: resourceFromAttributes({ 'service.name': `shop-${encoding}`, 'service.version': '1.2.3', 'host.cores': 8 }),
  spanProcessors: [new BatchSpanProcessor({ exporter }), new SimpleSpanProcessor({ exporter: memory })],
})
const tracer = provider.getTracer('checkout', '0.9.0')

for (let order = 0; order < Number(count); order++) {
  const root = tracer.startSpan('POST /orders', {
    kind: SpanKind.SERVER,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': 201,
      'order.id': order,
      'session.id': `s-${encoding}`,
    },
  })
  const context = trace.setSpan(active.active(), root)
  const child = tracer.startSpan(
    'SELECT orders',
    {
      kind: SpanKind.CLIENT,
      attributes: {
        'db.system.name': 'postgresql',
        rows: 9007199254740991,
        ratio: 0.25,
        cached: false,
        tags: ['a', 'ü', '支付'],
      },
      links: [{ context: root.spanContext(), attributes: { why: 'retry' } }],
    },
    context,
  )
  child.addEvent('cache miss', { key: `order:${order}` })
  if (order % 3 === 0) child.setStatus({ code: SpanStatusCode.ERROR, message: 'deadlock detected' })
  child.end()
  root.end()
}
await provider.forceFlush()
for (const span of memory.getFinishedSpans()) console.log(recordedSpan(span))
await provider.shutdown()
