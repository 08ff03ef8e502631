import { createHash } from 'node:crypto'

/** Hex text of a given length that depends only on its seed. */
export const hex = (length: number, ...seed: readonly (string | number)[]): string =>
  createHash('sha256').update(seed.join('/')).digest('hex').slice(0, length)

export type SpanSketch = Readonly<{
  traceId: string
  spanId: string
  parentSpanId?: string
  name?: string
  service?: string
  startNs?: bigint
  durationNs?: bigint
  attributes?: Readonly<Record<string, string>>
}>

const attribute = ([key, value]: readonly [string, string]): object => ({ key, value: { stringValue: value } })

/** An OTLP JSON request of these spans, one resource a service. Source: OTLP specification, JSON protobuf encoding. */
export function otlpJson(spans: readonly SpanSketch[]): string {
  const now = BigInt(Date.now()) * 1_000_000n
  const services = Map.groupBy(spans, ({ service = 'checkout' }) => service)
  const resourceSpans = [...services].map(([service, members]) => ({
    resource: { attributes: [attribute(['service.name', service])] },
    scopeSpans: [
      {
        scope: { name: 'test' },
        spans: members.map((span) => {
          const start = span.startNs ?? now
          return {
            traceId: span.traceId,
            spanId: span.spanId,
            parentSpanId: span.parentSpanId ?? '',
            name: span.name ?? 'GET /',
            kind: 2,
            startTimeUnixNano: String(start),
            endTimeUnixNano: String(start + (span.durationNs ?? 1_000_000n)),
            attributes: Object.entries(span.attributes ?? {}).map(attribute),
          }
        }),
      },
    ],
  }))
  return JSON.stringify({ resourceSpans })
}
