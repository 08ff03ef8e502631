import { isJsonObject, textOrJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Dialect } from './dialect.ts'
import { asText, firstOf, namesOf } from './fields.ts'
import type { IdsInText } from './ids-in-text.ts'
import { spanIdOf, traceIdOf } from './ids.ts'

// Effect, as its loggers of JSON and of structures write: a record has what the program was at there, and where it fails the cause.

const isEffect = ({ fiberId, annotations, spans }: JsonObject): boolean =>
  typeof fiberId === 'string' && isJsonObject(annotations) && isJsonObject(spans)

/** What was passed, one by one: an error has a name and a message. */
function textOf(part: Json): string {
  if (!isJsonObject(part)) return textOrJson(part)
  const { name, message } = part
  return typeof name === 'string' && typeof message === 'string' ? `${name}: ${message}` : textOrJson(part)
}

/** A list where not one thing alone was passed: of a cause and nothing else an empty one. */
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
/** As programs annotate their logs with the span that they are in. */
function idsOf(record: JsonObject): IdsInText | undefined {
  const traceId = isEffect(record) ? firstOf(record, traces, (value) => traceIdOf(value)) : undefined
  return traceId === undefined ? undefined : { traceId, spanId: firstOf(record, spans, (value) => spanIdOf(value)) }
}

export const effect = { service: serviceOf, ids: idsOf } satisfies Dialect
