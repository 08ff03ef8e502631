import { askedTraceId } from '#src/events/ids.ts'
import type { RumEvent } from '#src/events/telemetry.ts'
import { opaqueId, words } from '#src/events/tokens.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import type { Hit } from '../index-store.ts'
import type { Absent, Collection } from '../projection.ts'
import type { FieldSchema } from '../reading/field-schema.ts'
import { fieldTokens } from '../reading/record-tokens.ts'

/** A browser event as stored. `timeNs` is decimal text, nanoseconds. */
export type RumEventDocument = Readonly<{
  timeNs: string
  type: string
  name: string
  service: string | Absent
  sessionId: string | Absent
  traceId: string | Absent
  spanId: string | Absent
  url: string | Absent
  fields: JsonObject
}>

/** A browser event in an answer. */
export type RumEventItem = Readonly<{
  id: string
  timestamp: string
  type: string
  name: string
  service: string | null
  session_id: string | null
  trace_id: string | null
  span_id: string | null
  url: string | null
  fields: JsonObject
}>

export function rumEventDocument(event: RumEvent): RumEventDocument {
  const { timeNs, type, name, service, sessionId, traceId, spanId, url, fields } = event
  return {
    timeNs: timeNs.toString(),
    type,
    name,
    service: service ?? undefined,
    sessionId: sessionId ?? undefined,
    traceId: traceId ?? undefined,
    spanId: spanId ?? undefined,
    url: url ?? undefined,
    fields,
  }
}

export function rumEventItem({ id, document }: Hit<RumEventDocument>): RumEventItem {
  const {
    timeNs,
    type,
    name,
    service = null,
    sessionId = null,
    traceId = null,
    spanId = null,
    url = null,
    fields,
  } = document
  return {
    id,
    timestamp: formatTimeNs(BigInt(timeNs)),
    type,
    name,
    service,
    session_id: sessionId,
    trace_id: traceId,
    span_id: spanId,
    url,
    fields,
  }
}

/** Browser events: page views, measurements, custom events. */
export const rumEvents: Collection<RumEventDocument> = {
  name: 'rumEvents',
  kind: 'record',
  lookbackDays: 0,
  fields: {
    trace_id: 'id',
    span_id: 'id',
    session_id: 'id',
    type: 'keyword',
    name: 'keyword',
    service: 'keyword',
    fields: 'tokens',
    values: 'tokens',
    message: 'tokens',
  },
  searchable: ({ sessionId = null, ...event }) => ({
    timeNs: BigInt(event.timeNs),
    fields: {
      trace_id: event.traceId ?? undefined,
      span_id: event.spanId ?? undefined,
      session_id: sessionId === null ? undefined : opaqueId(sessionId),
      type: event.type,
      name: event.name,
      service: event.service ?? undefined,
      message: [words(event.name).join(' '), words(event.url ?? '').join(' ')],
      ...fieldTokens(event.fields),
    },
  }),
}

/** Whether a browser event reports an error. Faro's exceptions are log records. */
export const isErrorEvent = ({ type }: Pick<RumEventDocument, 'type'>): boolean =>
  type === 'error' || type === 'exception'

/** How the search language finds browser events: words of their name, address and values, and their fields. */
export const rumEventSchema: FieldSchema = {
  text: ['message', 'values'],
  fields: ['fields'],
  keywords: {
    // Compared whole: an event's fields may name it differently, or not at all.
    service: { field: 'service', canonical: (text) => text, apart: {} },
    trace_id: { field: 'trace_id', canonical: askedTraceId, apart: {} },
  },
}
