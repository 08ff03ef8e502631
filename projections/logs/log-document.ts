import { askedSpanId, askedTraceId } from '#src/events/ids.ts'
import { levelOfWord } from '#src/events/level-word.ts'
import type { Level, LogRecord } from '#src/events/telemetry.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { opaqueId, valueTokens, wholeToken, words } from '#src/events/tokens.ts'
import { datedBy } from '#src/wire/logs/record.ts'
import type { Absent, Collection } from '../projection.ts'
import type { FieldSchema } from '../reading/field-schema.ts'
import { fieldTokens } from '../reading/record-tokens.ts'

/** A log record as stored: its own fields unchanged, and what was understood of them. */
export type LogDocument = Pick<LogRecord, 'source' | 'fields'> &
  Readonly<{
    /** Decimal text of nanoseconds since the Unix epoch. */
    timestamp: string
    level: Level | Absent
    /** Undefined if `fields` has it: in most records the message is nearly everything. */
    message: string | undefined
    service: string | Absent
    traceId: string | Absent
    spanId: string | Absent
    sessionId: string | Absent
    cuts: readonly string[] | Absent
  }>

/** The message in the fields, under the names that most loggers use. */
function messageIn({ message, msg }: JsonObject): string | undefined {
  if (typeof message === 'string') return message
  return typeof msg === 'string' ? msg : undefined
}

export const messageOf = ({ message, fields }: Pick<LogDocument, 'message' | 'fields'>): string =>
  message ?? messageIn(fields) ?? ''

export const logDocument = (record: LogRecord): LogDocument => ({
  timestamp: record.timeNs.toString(),
  level: record.level ?? undefined,
  message: record.message === messageIn(record.fields) ? undefined : record.message,
  service: record.service ?? undefined,
  traceId: record.traceId ?? undefined,
  spanId: record.spanId ?? undefined,
  sessionId: record.sessionId ?? undefined,
  source: record.source,
  fields: record.fields,
  cuts: record.cuts.length === 0 ? undefined : record.cuts,
})

/** The keyword fields, under the names that searches use. */
function keywordsOf(document: LogDocument): Readonly<Record<string, string | undefined>> {
  const { level, service, source, traceId, spanId, sessionId } = document
  return {
    level: level ?? undefined,
    service: service ?? undefined,
    source,
    trace_id: traceId ?? undefined,
    span_id: spanId ?? undefined,
    session_id: sessionId ?? undefined,
  }
}

/** The tokens of the fields, and of what was understood of them if that says something else. */
function fieldsText(document: LogDocument, fields: string): string {
  const own = ` ${fields} `
  const tokens = [wholeToken('message', messageOf(document))]
  for (const [name, value] of Object.entries(keywordsOf(document))) {
    if (value !== undefined && !own.includes(` ${wholeToken(name, value)} `)) tokens.push(...valueTokens(name, value))
  }
  return fields === '' ? tokens.join(' ') : `${fields} ${tokens.join(' ')}`
}

/** Log records, found by their message, their values, their fields, and what was understood of them. */
export const logCollection: Collection<LogDocument> = {
  name: 'logs',
  kind: 'record',
  lookbackDays: 0,
  fields: {
    level: 'keyword',
    service: 'keyword',
    source: 'keyword',
    trace_id: 'id',
    span_id: 'id',
    session_id: 'id',
    fields: 'tokens',
    values: 'tokens',
    message: 'tokens',
  },
  countedBy: ['level', 'service', 'source'],
  countedTogether: true,
  searchable(document) {
    const { sessionId = null } = document
    const message = messageOf(document)
    const { values, fields } = fieldTokens(document.fields, { message, datedBy: datedBy(document.fields) })
    return {
      timeNs: BigInt(document.timestamp),
      fields: {
        ...keywordsOf(document),
        ...(sessionId === null ? {} : { session_id: opaqueId(sessionId) }),
        message: words(message).join(' '),
        values,
        fields: fieldsText(document, fields),
      },
    }
  },
}

/** Senders have a field `source` of their own: a value that is none of ours is searched for in the fields. */
const sources: readonly LogRecord['source'][] = ['logs', 'rum']
const sourceOf = (text: string): LogRecord['source'] | undefined =>
  sources.find((source) => source === text.trim().toLowerCase())

const traceId = { field: 'trace_id', canonical: askedTraceId }
const spanId = { field: 'span_id', canonical: askedSpanId }

/** How the search language finds log records. */
export const logSchema: FieldSchema = {
  text: ['message', 'values'],
  fields: ['fields'],
  message: { name: 'message', field: 'message' },
  keywords: {
    level: { field: 'level', canonical: levelOfWord },
    service: { field: 'service' },
    source: { field: 'source', canonical: sourceOf },
    trace_id: traceId,
    traceid: traceId,
    'trace.id': traceId,
    span_id: spanId,
    spanid: spanId,
    'span.id': spanId,
  },
}
