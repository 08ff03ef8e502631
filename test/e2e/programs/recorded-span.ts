// What a sender's own SDK recorded of a span, in the words that test/support/sent-span.ts compares.
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'

const ns = ([seconds, nanos]: readonly [number, number]): string =>
  String(BigInt(seconds) * 1_000_000_000n + BigInt(nanos))

/** A line of JSON: a SentSpan. */
export const recordedSpan = (span: ReadableSpan): string =>
  JSON.stringify({
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    parentSpanId: span.parentSpanContext?.spanId ?? null,
    name: span.name,
    kind: SpanKind[span.kind].toLowerCase(),
    start: ns(span.startTime),
    end: ns(span.endTime),
    status: SpanStatusCode[span.status.code].toLowerCase(),
    statusMessage: span.status.message ?? '',
    attributes: span.attributes,
    events: span.events.map((event) => ({
      name: event.name,
      time: ns(event.time),
      attributes: event.attributes ?? {},
    })),
    links: span.links.map(({ context, attributes }) => ({
      traceId: context.traceId,
      spanId: context.spanId,
      attributes: attributes ?? {},
    })),
    resource: span.resource.attributes,
    scope: { name: span.instrumentationScope.name, version: span.instrumentationScope.version ?? '' },
  })
