import type { Attributes, SharedAttributes, Span, SpanKind, SpanLink, SpanStatus } from '#src/events/telemetry.ts'
import { opaqueId, words } from '#src/events/tokens.ts'
import type { Filter } from '../index-store.ts'
import { createTokenRoom, fieldTokens, type TokenRoom } from '../record-tokens.ts'
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

/** Replaces a stored span that was sent again with another start, and so has another id. No search finds it. */
export type SupersededSpan = Readonly<{ superseded: true }>
export type SpanRecord = SpanDocument | SupersededSpan

export const isSuperseded = (record: SpanRecord): record is SupersededSpan => 'superseded' in record
const stored = { field: 'duration_ns' } as const
/** True of every span, and of no superseded one. */
export const isStored: Filter = { kind: 'number', ...stored }

export function spanDocument(span: Span): SpanDocument {
  const { spanEvents } = span
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    traceState: span.traceState,
    flags: span.flags,
    name: span.name,
    kind: span.kind,
    startNs: span.startNs.toString(),
    endNs: span.endNs.toString(),
    status: span.status,
    attributes: span.attributes,
    droppedAttributesCount: span.droppedAttributesCount,
    spanEvents: spanEvents.length === 0 ? noEvents : spanEvents.map(storedEvent),
    droppedEventsCount: span.droppedEventsCount,
    links: span.links,
    droppedLinksCount: span.droppedLinksCount,
    resource: span.resource.hash,
    scope: span.scope.hash,
    service: span.service,
    sessionId: span.sessionId,
    cuts: span.cuts,
  }
}

const noEvents: SpanDocument['spanEvents'] = []

const storedEvent = ({ timeNs, ...event }: Span['spanEvents'][number]): SpanDocument['spanEvents'][number] => ({
  ...event,
  timeNs: timeNs.toString(),
})

export const spanRecordId = (startNs: bigint, traceId: string, spanId: string): DocumentId =>
  recordId(clampTimeNs(startNs), traceId + spanId, 0)

export const traceIdOfSpanRecord = (id: DocumentId): string => id.slice(17, 49)
export const spanIdOfSpanRecord = (id: DocumentId): string => id.slice(49, 65)

/** The tokens of attributes as two `tokens` fields, preceded by the words and tokens of the object's own names. */
function tokensOf(
  attributes: Attributes,
  names: Readonly<Record<string, string>>,
  texts: readonly string[],
  room: TokenRoom,
) {
  const own = fieldTokens(names, { room }).fields
  const { values, fields } = fieldTokens(attributes, { room })
  return {
    values: [...texts.map((text) => words(text).join(' ')), values],
    fields: [own, fields],
  }
}

/**
 * Bare words look in `values` (the name, the status message and string attributes) and `event_values`; a field looks in
 * `fields` and `event_fields`, so that the prefixes `span.` and `event.` of a query choose between the two. A span's service,
 * name and status message are the fields `service`, `operation` and `status.message`, an event's name is `event.name`.
 */
function searchableSpan(span: SpanRecord): Searchable {
  if (isSuperseded(span)) return { timeNs: 0n, fields: {} }
  const { message } = span.status
  const names = {
    service: span.service,
    operation: span.name,
    ...(message === '' ? {} : { 'status.message': message }),
  }
  const room = createTokenRoom()
  const own = tokensOf(span.attributes, names, [span.name, message], room)
  const events = span.spanEvents.map(({ name, attributes }) =>
    tokensOf(attributes, { 'event.name': name }, [name], room),
  )
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
      session_id: span.sessionId === null ? undefined : opaqueId(span.sessionId),
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

/** One record per distinct span; a repeated span replaces the earlier one. */
export const spans: Collection<SpanRecord> = {
  name: 'spans',
  kind: 'record',
  lookbackDays: 7,
  fields: {
    trace_id: 'id',
    span_id: 'id',
    parent_span_id: 'id',
    service: 'keyword',
    operation: 'keyword',
    kind: 'keyword',
    status: 'keyword',
    session_id: 'id',
    resource: 'id',
    scope: 'id',
    duration_ns: 'number',
    values: 'tokens',
    fields: 'tokens',
    event_values: 'tokens',
    event_fields: 'tokens',
  },
  countedBy: ['service', 'operation', 'kind', 'status'],
  countedWhere: stored,
  countedTogether: true,
  searchable: searchableSpan,
}

/** A scope's name and version are its fields `scope.name` and `scope.version`. */
function searchableSet({ kind, name, version, attributes }: SharedAttributes): Searchable {
  const isScope = kind === 'scope'
  const names = isScope ? { 'scope.name': name, 'scope.version': version } : {}
  return { timeNs: 0n, fields: { kind, ...tokensOf(attributes, names, isScope ? [name] : [], createTokenRoom()) } }
}

/** Attributes of resources and scopes, once a day per distinct set; the id is the hash that spans carry. */
export const attributeSets: Collection<SharedAttributes> = {
  name: 'attributeSets',
  kind: 'document',
  lookbackDays: 0,
  fields: { kind: 'keyword', values: 'tokens', fields: 'tokens' },
  searchable: searchableSet,
}
