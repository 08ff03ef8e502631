import type { Level } from '#src/events/telemetry.ts'
import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import type { Hit } from '../index-store.ts'
import type { Span } from '../reading/highlight.ts'
import { messageOf, type LogDocument } from './log-document.ts'

/** A log record in an answer. */
export type LogItem = Readonly<{
  id: string
  /** RFC 3339, nanoseconds. */
  timestamp: string
  level: Level | null
  message: string
  service: string | null
  trace_id: string | null
  span_id: string | null
  session_id: string | null
  fields: JsonObject
  /** What was changed in the record, left out, or unreadable; absent if nothing. */
  cuts?: readonly string[]
}>

/** A log record that a search found, with the matching ranges of its message. */
export type FoundLog = LogItem & Readonly<{ highlights: readonly Span[] }>

/** The record of a hit. With `fieldNames`, it has only those of its own fields, by their dotted names. */
export function logItem({ id, document }: Hit<LogDocument>, fieldNames?: readonly string[]): LogItem {
  const cuts = document.cuts ?? []
  return {
    id,
    timestamp: formatTimeNs(BigInt(document.timestamp)),
    level: document.level ?? null,
    message: messageOf(document),
    service: document.service ?? null,
    trace_id: document.traceId ?? null,
    span_id: document.spanId ?? null,
    session_id: document.sessionId ?? null,
    fields: fieldNames === undefined ? document.fields : pickFields(document.fields, fieldNames),
    ...(cuts.length === 0 ? {} : { cuts }),
  }
}

function pickFields(fields: JsonObject, names: readonly string[]): JsonObject {
  const picked = Object.create(null) as Record<string, Json>
  for (const name of names) {
    const value = fieldOf(fields, name)
    if (value !== undefined) picked[name] = value
  }
  return picked
}

/** A field by its dotted name: as one key, or through nested objects. For a list, the values of its elements. */
export function fieldOf(fields: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(fields)) {
    const found = fields.map((element: Json) => fieldOf(element, name)).filter((value) => value !== undefined)
    return found.length === 0 ? undefined : found
  }
  if (!isJsonObject(fields)) return undefined
  if (Object.hasOwn(fields, name)) return fields[name]
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const head = name.slice(0, dot)
    const found = Object.hasOwn(fields, head) ? fieldOf(fields[head], name.slice(dot + 1)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}
