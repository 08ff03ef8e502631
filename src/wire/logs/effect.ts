import { isJsonObject, textOrJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Dialect } from './dialect.ts'
import { asText, firstOf, namesOf } from './fields.ts'
import type { IdsInText } from './ids-in-text.ts'
import { spanIdOf, traceIdOf } from './ids.ts'

// Effect's JSON and structured loggers. A record has the fiber, its spans and annotations, and on a failure the cause.

const isEffect = ({ fiberId, annotations, spans }: JsonObject): boolean =>
  typeof fiberId === 'string' && isJsonObject(annotations) && isJsonObject(spans)

/** One value that was passed to the logger. An error is written as its name and message. */
function textOf(part: Json): string {
  if (!isJsonObject(part)) return textOrJson(part)
  const { name, message } = part
  return typeof name === 'string' && typeof message === 'string' ? `${name}: ${message}` : textOrJson(part)
}

/** The message is a list unless exactly one value was passed. If only a cause was passed, the list is empty. */
export function messageOfEffect(record: JsonObject): string | undefined {
  const { message, cause } = record
  if (!isEffect(record) || message === undefined) return undefined
  if (!Array.isArray(message)) return textOf(message)
  const parts = message as readonly Json[]
  if (parts.length === 0) return typeof cause === 'string' ? cause : ''
  return parts.map(textOf).join(' ')
}

const services = namesOf(['annotations.service', 'annotations.service.name'])
const serviceOf = (record: JsonObject): string | undefined =>
  isEffect(record) ? firstOf(record, services, asText) : undefined

const traces = namesOf(['annotations.trace_id', 'annotations.traceId'])
const spans = namesOf(['annotations.span_id', 'annotations.spanId'])
/** Programs annotate their logs with the current span. */
function idsOf(record: JsonObject): IdsInText | undefined {
  const traceId = isEffect(record) ? firstOf(record, traces, (value) => traceIdOf(value)) : undefined
  return traceId === undefined ? undefined : { traceId, spanId: firstOf(record, spans, (value) => spanIdOf(value)) }
}

export const effect = { service: serviceOf, ids: idsOf } satisfies Dialect
