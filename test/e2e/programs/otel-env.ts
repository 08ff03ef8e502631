// A customer's program: the OpenTelemetry SDK for Node without a line of configuration; all is in OTEL_* variables.
// Prints a line of JSON a span, of what the SDK recorded.
import { context as active, SpanKind, SpanStatusCode, trace, type Span } from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { recordedSpan } from './recorded-span.ts'

const sdk = new NodeSDK()
sdk.start()
const tracer = trace.getTracer('parcels', '3.1.0')
const spans: Span[] = []
for (let parcel = 0; parcel < 3; parcel++) {
  tracer.startActiveSpan('PUT /parcels/:id', { kind: SpanKind.SERVER, attributes: { 'parcel.id': parcel } }, (root) => {
    const child = tracer.startSpan('weigh', {
      attributes: { grams: 9007199254740991, tare: -0.5, scales: ['north', 'süd'], calibrated: true },
      links: [{ context: root.spanContext(), attributes: { turn: parcel } }],
    })
    active.with(trace.setSpan(active.active(), child), () => child.addEvent('settled', { tries: parcel + 1 }))
    child.recordException(new RangeError('over 30 kg'))
    child.setStatus({ code: SpanStatusCode.ERROR, message: 'over 30 kg' })
    child.end()
    root.setStatus({ code: SpanStatusCode.OK })
    root.end()
    spans.push(root, child)
  })
}
await sdk.shutdown()
for (const span of spans) console.log(recordedSpan(span as unknown as ReadableSpan))
