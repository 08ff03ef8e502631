import { isJsonObject, textOrJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Level } from '#src/events/telemetry.ts'
import { levelNames, messageNames, serviceNames, spanNames, traceNames } from './aliases.ts'
import type { Dialect } from './dialect.ts'
import { asText, firstOf, namesOf } from './fields.ts'
import type { IdsInText } from './ids-in-text.ts'
import { isDecimal, spanIdOf, traceIdOf, traceparentOf } from './ids.ts'
import { levelByName, levelByNumber, numberOf } from './level.ts'

// Formats of loggers that were made for one vendor's collector. They are recognised by the fields around the one in question, as in senders.ts.

const messages = namesOf(messageNames)
const levels = namesOf(levelNames)
const services = namesOf(serviceNames)
const traces = namesOf(traceNames)
const spans = namesOf(spanNames)

/** The event of Splunk's HTTP Event Collector. Beside it stands only Splunk's own metadata (Splunk, "Format events for HTTP Event Collector"). */
const namesBesideEvent: ReadonlySet<string> = new Set(['time', 'host', 'source', 'sourcetype', 'index', 'fields'])
function eventOfSplunk(record: JsonObject): JsonObject | undefined {
  const { event } = record
  const isOne =
    isJsonObject(event) && Object.keys(record).every((name) => name === 'event' || namesBesideEvent.has(name))
  return isOne ? event : undefined
}

/**
 * Splunk's loggers put what the program passed into the event as `message`. Their winston transport puts what was passed beside the text into `meta`.
 */
const partsOfEvent = (event: JsonObject): readonly JsonObject[] => {
  const { message } = event
  const said = isJsonObject(message) ? [message] : []
  return [event, ...said, ...said.map(({ meta }) => meta).filter(isJsonObject)]
}

function inParts<T>(parts: readonly JsonObject[], read: (part: JsonObject) => T | undefined): T | undefined {
  for (const part of parts) {
    const found = read(part)
    if (found !== undefined) return found
  }
  return undefined
}

const passed = namesOf(['message'])
/** A text at any level comes before an object that was passed. */
const messageOfEvent = (event: JsonObject): string | undefined =>
  inParts(partsOfEvent(event), (part) => firstOf(part, messages, asText)) ?? firstOf(event, passed, textOrJson)

const idsOfEvent = (event: JsonObject): IdsInText | undefined =>
  inParts(partsOfEvent(event), (part) => {
    const traceId = firstOf(part, traces, (value, name) => traceIdOf(value, isDecimal(name)))
    if (traceId === undefined) return traceparentOf(part['traceparent'])
    return { traceId, spanId: firstOf(part, spans, (value, name) => spanIdOf(value, isDecimal(name))) }
  })

/** Mezmo, formerly LogDNA: a line, with its app or its file. Next to a file, a `line` of digits is a line number. */
const isOfMezmo = ({ line, timestamp, app, file }: JsonObject): boolean =>
  typeof line === 'string' &&
  typeof timestamp === 'number' &&
  (typeof app === 'string' || (typeof file === 'string' && !/^\d+$/.test(line)))
const mezmoMessages = namesOf(['line'])

/** Google Cloud's logger for winston, when it prints to the console: the message is an object. */
function saidToGoogle(record: JsonObject): JsonObject | undefined {
  const { message } = record
  return typeof record['logging.googleapis.com/insertId'] === 'string' && isJsonObject(message) ? message : undefined
}
const googleServices = namesOf(['serviceContext.service'])

/** Levels of pino and bunyan, multiples of ten. Any other number may be a field of the event itself. */
const levelByTens = (value: Json): Level | undefined => (numberOf(value) % 10 === 0 ? levelByNumber(value) : undefined)

function levelOf(record: JsonObject): Level | undefined {
  const event = eventOfSplunk(record)
  if (event === undefined) return undefined
  const by = (read: (value: Json) => Level | undefined): Level | undefined =>
    inParts(partsOfEvent(event), (part) => firstOf(part, levels, read))
  return by(levelByName) ?? by(levelByTens)
}

function messageOf(record: JsonObject): string | undefined {
  const event = eventOfSplunk(record)
  if (event !== undefined) return messageOfEvent(event)
  return isOfMezmo(record) ? firstOf(record, mezmoMessages, asText) : undefined
}

/** The message of Google Cloud's logger: it is inside the object that stands where others have a text. */
export const messageOfGoogle = (record: JsonObject): string | undefined => {
  const text: Json | undefined = saidToGoogle(record)?.['message']
  return typeof text === 'string' ? text : undefined
}

function serviceOf(record: JsonObject): string | undefined {
  const event = eventOfSplunk(record)
  if (event !== undefined) return inParts(partsOfEvent(event), (part) => firstOf(part, services, asText))
  const said = saidToGoogle(record)
  return said === undefined ? undefined : firstOf(said, googleServices, asText)
}

const idsOf = (record: JsonObject): IdsInText | undefined => {
  const event = eventOfSplunk(record)
  return event === undefined ? undefined : idsOfEvent(event)
}

export const collectors = { level: levelOf, message: messageOf, service: serviceOf, ids: idsOf } satisfies Dialect
