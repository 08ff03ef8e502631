import { hash } from 'node:crypto'
import type { Attributes, SharedAttributes } from '#src/events/telemetry.ts'
import { beginningOf } from '#src/lib/beginning.ts'
import { type Json, isJsonObject } from '#src/lib/json.ts'

/** JSON text with sorted keys, so that it is equal for equal values in any order. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonical(item)).join(',')}]`
  if (typeof value === 'bigint') return value.toString()
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`)
  return `{${members.join(',')}}`
}

/** Gives shared attributes their identity: the first 32 hex digits of a SHA-256 over everything in them. */
export function shareAttributes(of: Omit<SharedAttributes, 'hash'>): SharedAttributes {
  const { kind, name, version, schemaUrl, attributes, droppedAttributesCount } = of
  const text = canonical([kind, name, version, schemaUrl, droppedAttributesCount, attributes])
  const digest = hash('sha256', text, 'hex').slice(0, 32)
  return { hash: digest, kind, name, version, schemaUrl, attributes, droppedAttributesCount }
}

const asText = (value: Json | undefined): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''

/**
 * The limit of a service's name, as for logs. Each span is stored with it: a name of a megabyte in a request of ten thousand spans would make
 * gigabytes.
 */
const serviceCharactersMax = 1_024

/** `service.name`, or `unknown_service` if a resource has none. Source: OpenTelemetry semantic conventions, service. */
export const serviceOf = (resource: SharedAttributes): string =>
  beginningOf(asText(resource.attributes['service.name']), serviceCharactersMax).toWellFormed() || 'unknown_service'

/**
 * `session.id`, and other names for it: in the browser SDKs of HyperDX and Splunk; for a conversation with a language model in OpenTelemetry's
 * conventions, OpenLLMetry, Laminar, and LangSmith (whose `langsmith.trace.session_id` is a project).
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
 * The session id of the span, or else of its resource, under any of the names; null if neither has one of at most `charactersMax`. A longer one is
 * not cut: two sessions could become one.
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

/** The head of a text; never ends within a surrogate pair. */
export function cutText(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  const end = (text.charCodeAt(charactersMax - 1) & 0xfc00) === 0xd800 ? charactersMax - 1 : charactersMax
  return text.slice(0, Math.max(0, end))
}
