import type { Attributes, SharedAttributes, Span, SpanKind, SpanLink, SpanStatus } from '#src/events/telemetry.ts'
import { valueTokens, words } from '#src/events/tokens.ts'
import { fieldTokens } from '../record-tokens.ts'
import { recordId, type Collection, type DocumentId, type Searchable } from '../projection.ts'
import { clampTimeNs } from './sortable-time.ts'

/** A span as it is stored. Times are decimal text of nanoseconds; resource and scope are hashes of attribute sets. */
export type SpanDocument = Readonly<{
  traceId: string
  spanId: string
  parentSpanId: string | null
  traceState: string
  flags: number
  name: string
  kind: SpanKind
  startNs: string
  endNs: string
  status: SpanStatus
  attributes: Attributes
  droppedAttributesCount: number
  spanEvents: readonly Readonly<{
    timeNs: string
    name: string
    attributes: Attributes
    droppedAttributesCount: number
  }>[]
  droppedEventsCount: number
  links: readonly SpanLink[]
  droppedLinksCount: number
  resource: string
  scope: string
  service: string
  sessionId: string | null
  cuts: readonly string[]
}>

/** Stands where a span was stored that came again with another start, and so under another id. Nothing finds it. */
export type SupersededSpan = Readonly<{ superseded: true }>
export type SpanRecord = SpanDocument | SupersededSpan

export const isSuperseded = (record: SpanRecord): record is SupersededSpan => 'superseded' in record

export function spanDocument(span: Span): SpanDocument {
  const { startNs, endNs, spanEvents, resource, scope, ...kept } = span
  return {
    ...kept,
    startNs: startNs.toString(),
    endNs: endNs.toString(),
    spanEvents: spanEvents.map(({ timeNs, ...event }) => ({ ...event, timeNs: timeNs.toString() })),
    resource: resource.hash,
    scope: scope.hash,
  }
}

export const spanRecordId = (startNs: bigint, traceId: string, spanId: string): DocumentId =>
  recordId(clampTimeNs(startNs), traceId + spanId, 0)

export const traceIdOfSpanRecord = (id: DocumentId): string => id.slice(17, 49)

/** The tokens of an object's properties as two `tokens` fields, with words and tokens of its own name before them. */
function tokensOf(attributes: Attributes, names: Readonly<Record<string, string>>, texts: readonly string[]) {
  const { values, fields } = fieldTokens(attributes)
  const own = Object.entries(names).flatMap(([field, name]) => valueTokens(field, name))
  return {
    values: [...texts.map((text) => words(text).join(' ')), values],
    fields: [own.join(' '), fields],
  }
}

/**
 * Bare words look in `values` (the name, the status message and string attributes) and `event_values`; a field looks in
 * `fields` and `event_fields`, so that the prefixes `span.` and `event.` of a query choose between the two. A span's service
 * and name are the fields `service` and `operation`, an event's name is `event.name`.
 */
function searchableSpan(span: SpanRecord): Searchable {
  if (isSuperseded(span)) return { timeNs: 0n, fields: {} }
  const names = { service: span.service, operation: span.name }
  const own = tokensOf(span.attributes, names, [span.name, span.status.message])
  const events = span.spanEvents.map(({ name, attributes }) => tokensOf(attributes, { 'event.name': name }, [name]))
  return {
    timeNs: clampTimeNs(BigInt(span.startNs)),
    fields: {
      trace_id: span.traceId,
      span_id: span.spanId,
      parent_span_id: span.parentSpanId ?? undefined,
      service: span.service,
      operation: span.name,
      kind: span.kind,
      status: span.status.code,
      session_id: span.sessionId ?? undefined,
      resource: span.resource,
      scope: span.scope,
      duration_ns: BigInt(span.endNs) - BigInt(span.startNs),
      values: own.values,
      fields: own.fields,
      event_values: events.flatMap(({ values }) => values),
      event_fields: events.flatMap(({ fields }) => fields),
    },
  }
}

/** One per distinct span; one that comes again replaces the earlier. */
export const spans: Collection<SpanRecord> = {
  name: 'spans',
  kind: 'record',
  lookbackDays: 7,
  fields: {
    trace_id: 'keyword',
    span_id: 'keyword',
    parent_span_id: 'keyword',
    service: 'keyword',
    operation: 'keyword',
    kind: 'keyword',
    status: 'keyword',
    session_id: 'keyword',
    resource: 'keyword',
    scope: 'keyword',
    duration_ns: 'number',
    values: 'tokens',
    fields: 'tokens',
    event_values: 'tokens',
    event_fields: 'tokens',
  },
  searchable: searchableSpan,
}

/** A scope's name and version are its fields `scope.name` and `scope.version`. */
function searchableSet({ kind, name, version, attributes }: SharedAttributes): Searchable {
  const isScope = kind === 'scope'
  const names = isScope ? { 'scope.name': name, 'scope.version': version } : {}
  return { timeNs: 0n, fields: { kind, ...tokensOf(attributes, names, isScope ? [name] : []) } }
}

/** Attributes of resources and scopes, once a day per distinct set; the id is the hash that spans carry. */
export const attributeSets: Collection<SharedAttributes> = {
  name: 'attributeSets',
  kind: 'document',
  lookbackDays: 0,
  fields: { kind: 'keyword', values: 'tokens', fields: 'tokens' },
  searchable: searchableSet,
}
