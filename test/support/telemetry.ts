import { createHash } from 'node:crypto'
import { isJsonObject, stringifyJson, type Json } from '#src/lib/json.ts'

/** Hex text of a given length that depends only on its seed. */
export const hex = (length: number, ...seed: readonly (string | number)[]): string =>
  createHash('sha256').update(seed.join('/')).digest('hex').slice(0, length)

type Sent = Readonly<Record<string, Json>>

export type SpanSketch = Readonly<{
  traceId: string
  spanId: string
  parentSpanId?: string
  name?: string
  service?: string
  startNs?: bigint
  durationNs?: bigint
  /** As OTLP numbers them: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind?: number
  status?: 'ok' | 'error'
  statusMessage?: string
  attributes?: Sent
  events?: readonly Readonly<{ name: string; attributes?: Sent }>[]
  links?: readonly Readonly<{ traceId: string; spanId: string; attributes?: Sent }>[]
  /** Beside `service.name`. Spans of one service in one request share the first one's. */
  resource?: Sent
  scope?: Readonly<{ name: string; version?: string; attributes?: Sent }>
}>

function anyValue(value: Json): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'bigint' || Number.isInteger(value)) return { intValue: String(value) }
  if (typeof value === 'number') return { doubleValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: (value as readonly Json[]).map(anyValue) } }
  return isJsonObject(value) ? { kvlistValue: { values: attributesOf(value) } } : {}
}

const attributesOf = (attributes: Sent = {}): object[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }))

function spanOf(span: SpanSketch, now: bigint): object {
  const start = span.startNs ?? now
  const code = { ok: 1, error: 2, unset: 0 }[span.status ?? 'unset']
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name ?? 'GET /',
    kind: span.kind ?? 2,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + (span.durationNs ?? 1_000_000n)),
    attributes: attributesOf(span.attributes),
    events: span.events?.map(({ name, attributes }) => ({
      timeUnixNano: String(start),
      name,
      attributes: attributesOf(attributes),
    })),
    links: span.links?.map(({ attributes, ...link }) => ({ ...link, attributes: attributesOf(attributes) })),
    status: { code, message: span.statusMessage ?? '' },
  }
}

/** An OTLP JSON request of these spans, one resource a service. Source: OTLP specification, JSON protobuf encoding. */
export function otlpJson(spans: readonly SpanSketch[]): string {
  const now = BigInt(Date.now()) * 1_000_000n
  const services = Map.groupBy(spans, ({ service = 'checkout' }) => service)
  const resourceSpans = [...services].map(([service, members]) => {
    const { resource, scope } = members[0] ?? {}
    return {
      resource: { attributes: attributesOf({ 'service.name': service, ...resource }) },
      scopeSpans: [
        {
          scope: { name: 'test', ...scope, attributes: attributesOf(scope?.attributes) },
          spans: members.map((span) => spanOf(span, now)),
        },
      ],
    }
  })
  return stringifyJson({ resourceSpans })
}
