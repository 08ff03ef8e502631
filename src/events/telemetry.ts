import type { JsonObject } from '#src/lib/json.ts'

/** Attributes by name. Made without a prototype, so that any name is legal. Integers beyond 2^53 are bigint. */
export type Attributes = JsonObject

/** Attributes that many spans share; `hash` is 32 hex characters over their canonical form. */
export type SharedAttributes = Readonly<{
  hash: string
  kind: 'resource' | 'scope'
  /** Scope only; '' for a resource. */
  name: string
  version: string
  schemaUrl: string
  attributes: Attributes
  droppedAttributesCount: number
}>

/** In the order of their numbers in OTLP (trace.proto, `SpanKind`). */
export const spanKinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const
export type SpanKind = (typeof spanKinds)[number]
export type SpanStatus = Readonly<{ code: 'unset' | 'ok' | 'error'; message: string }>
export type SpanEvent = Readonly<{
  timeNs: bigint
  name: string
  attributes: Attributes
  droppedAttributesCount: number
}>
export type SpanLink = Readonly<{
  traceId: string
  spanId: string
  traceState: string
  attributes: Attributes
  droppedAttributesCount: number
  flags: number
}>

/** A span as received. Ids are lower-case hex. Source: opentelemetry-proto trace.proto v1. */
export type Span = Readonly<{
  traceId: string
  spanId: string
  parentSpanId: string | null
  traceState: string
  flags: number
  name: string
  kind: SpanKind
  startNs: bigint
  endNs: bigint
  status: SpanStatus
  attributes: Attributes
  droppedAttributesCount: number
  spanEvents: readonly SpanEvent[]
  droppedEventsCount: number
  links: readonly SpanLink[]
  droppedLinksCount: number
  resource: SharedAttributes
  scope: SharedAttributes
  /** `service.name` of the resource, `unknown_service` when absent (OpenTelemetry semantic conventions). */
  service: string
  /** What the span says is its session, by `session.id` or another name, else its resource. */
  sessionId: string | null
  /** What was changed to make the span storable ("attribute x cut at depth 32"); usually empty. */
  cuts: readonly string[]
}>

export type RefusalReason = 'rejected_allowance' | 'rejected_invalid' | 'rejected_entitlement'
export type RefusedSpan = Readonly<{ traceId: string; spanId: string; reason: RefusalReason }>

export const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type Level = (typeof levels)[number]
/** Whether the level of a log says that something went wrong. */
export const isErrorLevel = (level: string | null | undefined): boolean => level === 'error' || level === 'fatal'

/** A structured log as received; `fields` are the sender's own, untouched. */
export type LogRecord = Readonly<{
  /** Index in its event, from 0. With the event's id it identifies the record. */
  ordinal: number
  timeNs: bigint
  /** Null if the sender gave none. */
  level: Level | null
  message: string
  service: string | null
  traceId: string | null
  spanId: string | null
  sessionId: string | null
  source: 'logs' | 'rum'
  fields: JsonObject
  cuts: readonly string[]
}>

/** A browser event that is neither a log nor a span: a page view, a measurement, a custom event … */
export type RumEvent = Readonly<{
  ordinal: number
  timeNs: bigint
  /** `event`, `measurement`, `exception`, `log`, or the sender's own type in the plain form. */
  type: string
  name: string
  service: string | null
  sessionId: string | null
  traceId: string | null
  spanId: string | null
  url: string | null
  fields: JsonObject
}>
