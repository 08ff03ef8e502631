import { isJsonObject, textOrJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Level } from '#src/events/telemetry.ts'
import type { Dialect } from './dialect.ts'
import { asText, firstOf, namesOf } from './fields.ts'

// The formats of .NET's Serilog: the compact one (github.com/serilog/serilog-formatting-compact) and the older one.

/** The compact format: a time, and a message or its template. */
const isCompact = (record: JsonObject): boolean =>
  typeof record['@t'] === 'string' && (typeof record['@mt'] === 'string' || typeof record['@m'] === 'string')

const isFirst = ({ Level, MessageTemplate }: JsonObject): boolean =>
  typeof Level === 'string' && typeof MessageTemplate === 'string'

/** The compact format leaves out the level Information. */
const levelOf = (record: JsonObject): Level | undefined =>
  isCompact(record) && record['@l'] === undefined ? 'info' : undefined

const rendered = namesOf(['@m', 'RenderedMessage'])

/** The message; if only the template was written, it is filled with the properties that it names (messagetemplates.org). */
export function messageOfSerilog(record: JsonObject): string | undefined {
  if (isCompact(record)) {
    return firstOf(record, rendered, asText) ?? filled(record['@mt'], record, record['@r'])
  }
  if (!isFirst(record)) return undefined
  const { MessageTemplate, Properties } = record
  return firstOf(record, rendered, asText) ?? filled(MessageTemplate, isJsonObject(Properties) ? Properties : {}, [])
}

const place = /\{\{|\}\}|\{[@$]?(\w{1,128})(?:,-?\d{1,9})?(:[^{}]{0,128})?\}/g

/** Limits a filled template: it may name a long property as often as it has room. */
const charactersMax = 64 * 1024

function filled(template: Json | undefined, properties: JsonObject, renderings: Json | undefined): string | undefined {
  if (typeof template !== 'string' || template === '') return undefined
  const ready = (Array.isArray(renderings) ? (renderings as readonly Json[]) : []).values()
  let left = charactersMax
  return template.replaceAll(place, (whole, name?: string, format?: string) => {
    if (name === undefined) return whole.charAt(0)
    const text = format === undefined ? undefined : ready.next().value
    if (left < 0 || !Object.hasOwn(properties, name)) return whole
    const made = typeof text === 'string' ? text : textOrJson(properties[name])
    left -= made.length
    return left < 0 ? whole : made
  })
}

const compactServices = namesOf(['Application', 'ApplicationName', '@ra.service.name'])
const firstServices = namesOf(['Properties.Application', 'Properties.ApplicationName'])

/** The properties by which programs that share one Seq are told apart. */
function serviceOf(record: JsonObject): string | undefined {
  if (isCompact(record)) return firstOf(record, compactServices, asText)
  return isFirst(record) ? firstOf(record, firstServices, asText) : undefined
}

export const serilog = { level: levelOf, service: serviceOf } satisfies Dialect
