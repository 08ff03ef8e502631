import type { Limits } from '#src/config.ts'
import type { Level, LogRecord } from '#src/events/telemetry.ts'
import { beginningOf } from '#src/lib/beginning.ts'
import { isJsonObject, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import {
  levelNames,
  messageNames,
  serviceNames,
  sessionNames,
  severityNumberNames,
  spanNames,
  syslogNumberNames,
  timeNames,
  traceNames,
} from './aliases.ts'
import { collectors, messageOfGoogle } from './collectors.ts'
import type { Dialect } from './dialect.ts'
import { effect, messageOfEffect } from './effect.ts'
import { fieldOf, firstOf, namesOf } from './fields.ts'
import { idsInText, type IdsInText } from './ids-in-text.ts'
import { isDecimal, sessionIdOf, spanIdOf, traceIdOf, traceparentOf } from './ids.ts'
import { levelByMongodb, levelByName, levelBySeverityNumber, levelByStatus, levelBySyslog } from './level.ts'
import { levelInText } from './level-in-text.ts'
import { filledMessageOf, preciseTimeOf } from './logback.ts'
import { platforms } from './platforms.ts'
import { fromRuntime } from './runtime.ts'
import {
  isGelf,
  levelOfConsola,
  mayDate,
  messageOfError,
  messageOfLogtape,
  senders,
  textsOf,
  timeNamesOfSenders,
} from './senders.ts'
import { messageOfSerilog, serilog } from './serilog.ts'
import { levelByOwnNumber, servers } from './servers.ts'
import { serviceInText } from './service-in-text.ts'
import { springLineOf } from './spring.ts'
import { tidyFields, type TidyLimits } from './tidy.ts'
import { earliestNs, latestNs, parseEpoch, parseTime, withTimeOfDay } from './time.ts'

const times = namesOf([...timeNames, ...timeNamesOfSenders])
const levels = namesOf(levelNames)
const severityNumbers = namesOf(severityNumberNames)
const syslogNumbers = namesOf(syslogNumberNames)
const messages = namesOf(messageNames)
const traces = namesOf(traceNames)
const spans = namesOf(spanNames)
const sessions = namesOf(sessionNames)
const services = namesOf(serviceNames)

/** In the order in which they are asked; the first that gives something counts. */
const dialects: readonly Dialect[] = [senders, effect, servers, platforms, serilog, collectors]

function inDialect<T>(record: JsonObject, what: (dialect: Dialect) => ((record: JsonObject) => T) | undefined) {
  for (const dialect of dialects) {
    const said = what(dialect)?.(record)
    if (said !== undefined) return said
  }
  return undefined
}

/** The longest kept name or address. They are compared and counted whole, and this much tells them apart. */
const nameCharactersMax = 1_024

export type RecordLimits = TidyLimits & SessionLimits
type SessionLimits = Pick<Limits, 'sessionIdCharactersMax'>

/** What is known about a record beside its fields. */
type RecordContext = Readonly<{
  ordinal: number
  /** Milliseconds since the Unix epoch: the time of a record that has none. */
  receivedAt: number
  limits: RecordLimits
  /** The time beside the fields, nanoseconds since the Unix epoch (Fluent Bit). A time among the fields comes first. */
  besideNs?: bigint | undefined
  /** The original line of text, if its header was parsed into fields. */
  raw?: string | undefined
  /** The JSON line whose fields are among those of the record. What it says overrides what a shipper says beside it, under any name. */
  line?: JsonObject | undefined
  /** The line, if it gives a time. */
  dated?: JsonObject | undefined
  /** Digits that a double would round, by field name: of the line if it gives the time, otherwise of the record. */
  exact?: ReadonlyMap<string, string> | undefined
}>

type RecordTime = Readonly<{ timeNs: bigint; cut: string | undefined }>

/** A record's own time if it can be stored, otherwise the time of arrival with a note for `cuts`. */
export function timeOf(
  record: JsonObject,
  context: Pick<RecordContext, 'receivedAt' | 'besideNs' | 'exact'>,
): RecordTime {
  let unusable: string | undefined
  const own = firstOf(record, times, (value, name) => {
    const written = context.exact?.get(name) ?? value
    const time = timeBy(name, written, record)
    if (time === undefined && unusable === undefined && mayDate(name, record, value)) unusable = name
    return time
  })
  const timeNs = own ?? context.besideNs
  if (timeNs === undefined) {
    const arrival = BigInt(Math.trunc(context.receivedAt)) * 1_000_000n
    return { timeNs: arrival, cut: unusable === undefined ? undefined : `no time could be read from ${unusable}` }
  }
  if (timeNs >= earliestNs && timeNs <= latestNs) return { timeNs, cut: undefined }
  const nearest = timeNs < earliestNs ? earliestNs : latestNs
  return { timeNs: nearest, cut: 'time outside 1970 to 2262 moved to the nearest that can be stored' }
}

/** The name of the field that gives a record's time; undefined if none does. */
export const datedBy = (record: JsonObject): string | undefined =>
  firstOf(record, times, (value, name) => (timeBy(name, value, record) === undefined ? undefined : name))

/** Whether a field for times has one, even one that is too small to date the record. */
export const tellsTime = (record: JsonObject): boolean =>
  firstOf(record, times, (value, name) => timeBy(name, value, record, parseTime) !== undefined || undefined) === true

/** The time in a field. Google Cloud's loggers and logback put the nanoseconds into a field of their own, and W3C's log format the time of day. */
function timeBy(name: string, value: Json, record: JsonObject, parse = parseDate): bigint | undefined {
  if (name === 'timeUnixNano') return unixNano(value)
  if (name === 'timestamp') return parse(preciseTimeOf(value, record['nanoseconds']) ?? value)
  if (name === 'date') return parse(withTimeOfDay(value, record['time']))
  if (name !== 'timestampSeconds') return mayDate(name, record, value) ? parse(value) : undefined
  return parseTime({ seconds: value, nanos: record['timestampNanos'] ?? 0 })
}

/**
 * The smallest number that dates a record, of 1973 in seconds. A smaller one is how long something took (`time` of a request), or how long a page or a
 * process runs (`performance.now()`): as a time it would hide the record in 1970.
 */
const smallestDate = 1e8
const parseDate = (value: Json): bigint | undefined =>
  typeof value !== 'object' && Math.abs(Number(value)) < smallestDate ? undefined : parseTime(value)

/** OTLP writes 0 for an unknown time. */
function unixNano(value: Json): bigint | undefined {
  const time = typeof value === 'object' || typeof value === 'boolean' ? undefined : parseEpoch(String(value), 0)
  return time === 0n ? undefined : time
}

/** The level from a field for levels. Names come before numbers in any order: logtail-python has its own `severity` numbers beside `level`. */
export function namedLevelOf(record: JsonObject): Level | undefined {
  return (
    firstOf(record, levels, levelByName) ??
    levelByStatus(record['status']) ??
    levelOfConsola(record) ??
    firstOf(record, levels, isGelf(record) ? levelBySyslog : levelByOwnNumber(record))
  )
}

export const levelOf = (record: JsonObject): Level | undefined =>
  namedLevelOf(record) ??
  firstOf(record, severityNumbers, levelBySeverityNumber) ??
  firstOf(record, syslogNumbers, (value) => levelBySyslog(value) ?? levelByName(value)) ??
  levelByMongodb(record) ??
  inDialect(record, ({ level }) => level)

/** ECS has objects in `log` and `event`, which are not messages. */
const messageOf = (record: JsonObject): string =>
  filledMessageOf(record) ??
  messageOfSerilog(record) ??
  messageOfLogtape(record) ??
  messageOfEffect(record) ??
  messageOfGoogle(record) ??
  firstOf(record, messages, (value, name) => {
    if (isJsonObject(value) && (name === 'log' || name === 'event')) return undefined
    if (name === 'messages' && typeof value !== 'string') return textsOf(value)
    return name === 'MESSAGE' && isBytes(value) ? Buffer.from(value).toString() : messageText(value)
  }) ??
  inDialect(record, ({ message }) => message) ??
  messageOfError(record, (said) => namedLevelOf(said) !== undefined) ??
  ''

/** journald writes a text with unprintable characters, such as colours, as a list of its bytes. */
const isBytes = (value: Json): value is number[] =>
  Array.isArray(value) && value.every((byte) => typeof byte === 'number' && byte >= 0 && byte <= 255)

/** The text of a message. Of an OTLP AnyValue: the value inside. */
function messageText(value: Json): string {
  if (typeof value === 'string') return value
  if (!isJsonObject(value)) return stringifyJson(value)
  const keys = Object.keys(value)
  const only = keys.length === 1 ? keys[0] : undefined
  const inner = only === undefined ? undefined : value[only]
  if (only === 'stringValue' && typeof inner === 'string') return inner
  const isScalar = only === 'intValue' || only === 'doubleValue' || only === 'boolValue'
  return isScalar && inner !== undefined && typeof inner !== 'object' ? String(inner) : stringifyJson(value)
}

export type Identifiers = Readonly<{ traceId: string | null; spanId: string | null; sessionId: string | null }>

/** Trace and span id from one source: the traceparent; if no field names a trace, the ids of a dialect or in the text. */
const togetherOf = (record: JsonObject, named: string | undefined, message: string): IdsInText | undefined =>
  traceparentOf(record['traceparent']) ??
  (named === undefined ? (inDialect(record, ({ ids }) => ids) ?? idsInText(message)) : undefined)

/** Trace, span and session of a record. The ids from one source fill in what the named fields leave open. */
export function identifiersOf(
  record: JsonObject,
  { sessionIdCharactersMax }: SessionLimits,
  message = '',
): Identifiers {
  const namedTrace = firstOf(record, traces, (value, name) => traceIdOf(value, isDecimal(name)))
  const namedSpan = firstOf(record, spans, (value, name) => spanIdOf(value, isDecimal(name)))
  const together = togetherOf(record, namedTrace, message)
  const traceId = namedTrace ?? together?.traceId ?? null
  const spanId = namedSpan ?? (together?.traceId === traceId ? together?.spanId : undefined)
  const sessionId = firstOf(record, sessions, (value) => sessionIdOf(value, sessionIdCharactersMax))
  return { traceId, spanId: spanId ?? null, sessionId: sessionId ?? null }
}

const nameOf = (text: string): string => beginningOf(text.trim(), nameCharactersMax).toWellFormed()

/** Docker's container names begin with a slash. Syslog writes `-` for a program without a name (RFC 5424 §6). */
const nameUnder = (value: Json, name: string): string | undefined => {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value !== 'string' || value === '-') return undefined
  return nameOf(name === 'container_name' ? value.replace(/^\//, '') : value)
}

/** Rust's tracing-subscriber has the message among the fields of an event. A `service` there is the program's own data. */
const isEventIn = (fields: Json | undefined): boolean => isJsonObject(fields) && fields['message'] !== undefined

export function serviceOf(record: JsonObject): string | null {
  const named = firstOf(record, services, (value, name) =>
    name === 'fields.service' && isEventIn(record['fields']) ? undefined : nameUnder(value, name),
  )
  if (named !== undefined) return named
  return nameSaid(inDialect(record, ({ service }) => service))
}

/** A service from a text pattern, whose placeholder for a missing name is not a name. */
function nameSaid(text: string | undefined): string | null {
  const name = nameOf(text ?? '')
  return name === '' || name === '-' ? null : name
}

/** The level in the message, otherwise in the header before it. */
const levelOfText = (message: string, raw: string | undefined): Level | undefined =>
  levelInText(message) ?? (raw === undefined ? undefined : levelInText(raw))

const orInText = (service: string | null, text: string): string | null => service ?? nameSaid(serviceInText(text))

/** A message without the prefix of a container runtime or Spring Boot. Shippers that do not parse lines send them as stored. */
function takenOff(said: string) {
  const ofContainer = fromRuntime(said)
  const printed = ofContainer?.text ?? said
  const ofSpring = springLineOf(printed)
  const service = nameSaid(ofSpring?.service)
  return { timeNs: parseTime(ofContainer?.time), printed, message: ofSpring?.message ?? printed, service }
}

/** The log record for the fields that a sender gave: what each alias gives, and the fields themselves. */
export function logRecordOf(record: JsonObject, context: RecordContext): LogRecord {
  const { raw, line, dated = record, receivedAt, exact } = context
  const told = <T>(read: (from: JsonObject) => T): T => (line === undefined ? undefined : read(line)) ?? read(record)
  const { timeNs: keptNs, printed, message, service } = takenOff(messageOf(line ?? record))
  const whole = raw ?? printed
  const besideNs = context.besideNs ?? keptNs
  const { timeNs, cut } = timeOf(dated, { receivedAt, exact, besideNs })
  const { fields, cuts, text } = tidyFields(record, context.limits)
  return {
    ordinal: context.ordinal,
    timeNs,
    level: told(levelOf) ?? levelOfText(printed, raw) ?? null,
    message: text(message),
    service: orInText(told(serviceOf) ?? service, whole),
    ...identifiersOf(record, context.limits, whole),
    source: 'logs',
    fields,
    cuts: cut === undefined ? cuts : [cut, ...cuts],
  }
}

/** A text field by its dotted name, such as a name or an address, cut to the longest allowed; null if it is empty or no text. */
export function textField(record: JsonObject, name: string): string | null {
  const value = fieldOf(record, name)
  return typeof value === 'string' && value !== '' ? beginningOf(value, nameCharactersMax).toWellFormed() : null
}
