// A customer's page: the OpenTelemetry SDK for browsers and its OTLP/HTTP exporter. The address names url, key and timeout (ms);
// `facts` resolves with what the SDK recorded, a line of JSON a span, and what became of the export.
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  WebTracerProvider,
} from '@opentelemetry/sdk-trace-web'
import { recordedSpan } from './recorded-span.ts'

const settings = new URLSearchParams(location.search)
const memory = new InMemorySpanExporter()
const exporter = new OTLPTraceExporter({
  url: settings.get('url'),
  headers: { Authorization: `Bearer ${settings.get('key')}` },
  timeoutMillis: Number(settings.get('timeout') ?? 10_000),
})
const provider = new WebTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'shop-page', 'browser.mobile': false, 'screen.width': 1280 }),
  spanProcessors: [new BatchSpanProcessor(exporter), new SimpleSpanProcessor(memory)],
})
const tracer = provider.getTracer('page', '0.1.0')
for (let click = 0; click < 3; click++) {
  const span = tracer.startSpan('click', {
    kind: SpanKind.CLIENT,
    attributes: { click, 'session.id': 'page-session', pixels: 9007199254740991, where: ['top', 'rechts ✓'] },
  })
  span.addEvent('painted', { after_ms: 16.5 })
  if (click === 1) span.setStatus({ code: SpanStatusCode.ERROR, message: 'rage click' })
  span.end()
}
const recorded = memory.getFinishedSpans().map(recordedSpan)
globalThis.facts = provider.forceFlush().then(
  () => ({ recorded, outcome: 'delivered' }),
  (error) => ({ recorded, outcome: String(error) }),
)
