import type { Attributes, SharedAttributes, Span, SpanKind, SpanLink, SpanStatus } from '#src/events/telemetry.ts'
import { opaqueId } from '#src/events/tokens.ts'
import { clampInt64 } from '#src/lib/int64.ts'
import type { Filter } from '../index-store.ts'
import { recordId, type Absent, type Collection, type DocumentId, type Searchable } from '../projection.ts'
import { createTokenRoom, fieldTokens, wordsOfField, type TokenRoom } from '../reading/record-tokens.ts'

type SpanEventDocument = Readonly<{
  timeNs: string
  name: string
  attributes: Attributes
  droppedAttributesCount: number
}>

/**
 * A span as it is stored. Times are decimal text, nanoseconds; resource and scope are hashes of attribute sets. Values that most spans have (no
 * state, no flags, status unset, nothing dropped …) are absent, which saves a fifth of the text.
 */
export type SpanDocument = Readonly<{
  traceId: string
  spanId: string
  parentSpanId: string | Absent
  traceState: string | Absent
  flags: number | Absent
  name: string
  kind: SpanKind
  startNs: string
  endNs: string
  status: SpanStatus | Absent
  attributes: Attributes
  droppedAttributesCount: number | Absent
  spanEvents: readonly SpanEventDocument[] | Absent
  droppedEventsCount: number | Absent
  links: readonly SpanLink[] | Absent
  droppedLinksCount: number | Absent
  resource: string
  scope: string
  service: string
  sessionId: string | Absent
  cuts: readonly string[] | Absent
}>

/** Replaces a stored span that was sent again with another start, and thereby got another record id. No search finds it. */
export type SupersededSpan = Readonly<{ superseded: true }>
export type SpanRecord = SpanDocument | SupersededSpan

export const isSuperseded = (record: SpanRecord): record is SupersededSpan => 'superseded' in record
const stored = { field: 'duration_ns' } as const
/** Matches every span, but no superseded one. */
export const isStored: Filter = { kind: 'number', ...stored }

export const unsetStatus: SpanStatus = { code: 'unset', message: '' }
const isUnset = ({ code, message }: SpanStatus): boolean => code === 'unset' && message === ''
const unlessEmpty = <T>(items: readonly T[]): readonly T[] | undefined => (items.length === 0 ? undefined : items)

/** Sets every property, even to undefined: objects of one shape are faster than objects that omit some. */
export function spanDocument(span: Span): SpanDocument {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? undefined,
    traceState: span.traceState || undefined,
    flags: span.flags || undefined,
    name: span.name,
    kind: span.kind,
    startNs: span.startNs.toString(),
    endNs: span.endNs.toString(),
    status: isUnset(span.status) ? undefined : span.status,
    attributes: span.attributes,
    droppedAttributesCount: span.droppedAttributesCount || undefined,
    spanEvents: unlessEmpty(span.spanEvents)?.map(storedEvent),
    droppedEventsCount: span.droppedEventsCount || undefined,
    links: unlessEmpty(span.links),
    droppedLinksCount: span.droppedLinksCount || undefined,
    resource: span.resource.hash,
    scope: span.scope.hash,
    service: span.service,
    sessionId: span.sessionId ?? undefined,
    cuts: unlessEmpty(span.cuts),
  }
}

const storedEvent = ({ timeNs, ...event }: Span['spanEvents'][number]): SpanEventDocument => ({
  ...event,
  timeNs: timeNs.toString(),
})

export const spanRecordId = (startNs: bigint, traceId: string, spanId: string): DocumentId =>
  recordId(clampInt64(startNs), traceId + spanId, 0)

export const traceIdOfSpanRecord = (id: DocumentId): string => id.slice(17, 49)
export const spanIdOfSpanRecord = (id: DocumentId): string => id.slice(49, 65)

/** Tokens of fields need no sentinel between: each value's words follow its whole token (events/tokens.ts). */
const joinTokens = (tokens: readonly string[]): string => tokens.filter((text) => text !== '').join(' ')

/** The tokens of the object's own names, then of its attributes, for two `tokens` fields. `texts`: the own names whose words go into `values`. */
function tokensOf(
  attributes: Attributes,
  names: Readonly<Record<string, string>>,
  texts: readonly string[],
  room: TokenRoom,
) {
  const own = fieldTokens(names, { room }).fields
  const { values, fields } = fieldTokens(attributes, { room })
  return {
    values: [...texts.map((name) => wordsOfField(name, names[name] ?? '')), values],
    fields: joinTokens([own, fields]),
  }
}

const noEvents: readonly SpanEventDocument[] = []

/**
 * Bare words look in `values` (the name, the status message and string attributes) and `event_values`; a field looks in
 * `fields` and `event_fields`, so that the prefixes `span.` and `event.` of a query choose between the two. A span's service,
 * name and status message are the fields `service`, `operation` and `status.message`, an event's name is `event.name`.
 */
function searchableSpan(span: SpanRecord): Searchable {
  if (isSuperseded(span)) return { timeNs: 0n, fields: {} }
  const { code, message } = span.status ?? unsetStatus
  const { sessionId = null } = span
  const named = { service: span.service, operation: span.name }
  const names = message === '' ? named : { ...named, 'status.message': message }
  const startNs = BigInt(span.startNs)
  const room = createTokenRoom()
  const own = tokensOf(span.attributes, names, ['operation', 'status.message'], room)
  const events = (span.spanEvents ?? noEvents).map(({ name, attributes }) =>
    tokensOf(attributes, { 'event.name': name }, ['event.name'], room),
  )
  return {
    timeNs: clampInt64(startNs),
    fields: {
      trace_id: span.traceId,
      span_id: span.spanId,
      parent_span_id: span.parentSpanId ?? undefined,
      service: span.service,
      operation: span.name,
      kind: span.kind,
      status: code,
      session_id: sessionId === null ? undefined : opaqueId(sessionId),
      resource: span.resource,
      scope: span.scope,
      duration_ns: BigInt(span.endNs) - startNs,
      values: own.values,
      fields: own.fields,
      event_values: events.flatMap(({ values }) => values),
      event_fields: joinTokens(events.map(({ fields }) => fields)),
    },
  }
}

/** One record per distinct span; a repeated span replaces the earlier one. */
export const spans: Collection<SpanRecord> = {
  name: 'spans',
  kind: 'record',
  lookbackDays: 7,
  repeatsWithin: (id) => ({ collection: 'traces', id: traceIdOfSpanRecord(id) }),
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
    fields: 'tokens',
    values: 'tokens',
    event_fields: 'tokens',
    event_values: 'tokens',
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
  return {
    timeNs: 0n,
    fields: { kind, ...tokensOf(attributes, names, isScope ? ['scope.name'] : [], createTokenRoom()) },
  }
}

/** Attributes of resources and scopes, once a day per distinct set; the id is the hash that spans carry. */
export const attributeSets: Collection<SharedAttributes> = {
  name: 'attributeSets',
  kind: 'document',
  lookbackDays: 0,
  fields: { kind: 'keyword', values: 'tokens', fields: 'tokens' },
  searchable: searchableSet,
}
