import { hash } from 'node:crypto'
import type { Attributes, SharedAttributes } from '#src/events/telemetry.ts'
import { beginningOf } from '#src/lib/beginning.ts'
import { type Json, isJsonObject } from '#src/lib/json.ts'

/** JSON text with sorted keys: equal for values that are equal, whatever the order they were written in. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonical(item)).join(',')}]`
  if (typeof value === 'bigint') return value.toString()
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`)
  return `{${members.join(',')}}`
}

/** Gives attributes that many spans share their identity: the head of a SHA-256 over everything in them. */
export function shareAttributes(of: Omit<SharedAttributes, 'hash'>): SharedAttributes {
  const { kind, name, version, schemaUrl, attributes, droppedAttributesCount } = of
  const text = canonical([kind, name, version, schemaUrl, droppedAttributesCount, attributes])
  const digest = hash('sha256', text, 'hex').slice(0, 32)
  return { hash: digest, kind, name, version, schemaUrl, attributes, droppedAttributesCount }
}

const asText = (value: Json | undefined): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''

/** As of a log's service: each span is kept with it, and a name of a megabyte would make gigabytes of a request of ten thousand. */
const serviceCharactersMax = 1_024

/** `service.name`, or `unknown_service` where a resource has none. Source: OpenTelemetry semantic conventions, service. */
export const serviceOf = (resource: SharedAttributes): string =>
  beginningOf(asText(resource.attributes['service.name']), serviceCharactersMax).toWellFormed() || 'unknown_service'

/**
 * `session.id`, and what else it is called: by HyperDX's and Splunk's SDKs for pages; for a conversation with a language model, by
 * OpenTelemetry's conventions, OpenLLMetry, Laminar, and LangSmith, whose `langsmith.trace.session_id` is a project.
 */
const sessionNames = [
  'session.id',
  'rum.sessionId',
  'splunk.rumSessionId',
  'gen_ai.conversation.id',
  'traceloop.association.properties.session_id',
  'lmnr.association.properties.session_id',
  'langsmith.metadata.session_id',
  'langsmith.metadata.thread_id',
]

/**
 * `session.id`, or what SDKs call it, of the span, else of its resource; null where neither has one of at most `charactersMax`. A longer one
 * is not cut: two sessions could become one.
 */
export function sessionIdOf(attributes: Attributes, resource: SharedAttributes, charactersMax: number): string | null {
  for (const name of sessionNames) {
    for (const bag of [attributes, resource.attributes]) {
      const id = asText(bag[name])
      if (id.length <= charactersMax && id.trim() !== '') return id
    }
  }
  return null
}

/** The head of a text, never ending within a surrogate pair. */
export function cutText(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  const end = (text.charCodeAt(charactersMax - 1) & 0xfc00) === 0xd800 ? charactersMax - 1 : charactersMax
  return text.slice(0, Math.max(0, end))
}
