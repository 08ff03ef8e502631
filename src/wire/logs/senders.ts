import { isJsonObject, textOrJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Level } from '#src/events/telemetry.ts'
import type { Dialect } from './dialect.ts'
import { asText, fieldOf, firstOf, namesOf } from './fields.ts'
import type { IdsInText } from './ids-in-text.ts'
import { spanIdOf, traceIdOf } from './ids.ts'
import { levelByName, levelByPython, levelBySyslog, numberOf } from './level.ts'
import { isKubernetesEvent } from './servers.ts'

// What single loggers write in a way of their own, told by what stands beside it: such names mean something else elsewhere, so they are no
// aliases, and how a body is split never goes by them. Looked at last, where a record says nothing by the usual names.

/**
 * Of zap for developers, of log15 and Grafana, log4js, tslog, SAP's loggers, Elixir's LoggerJSON, and Cloudflare; of requests to nginx, Envoy
 * and Kong, of what was done in AWS and in Kubernetes, of ClickHouse, Azure's gateways, Cloudflare's firewall and its Workers, NXLog and Auth0. If you change these, raise the
 * version of the projection of logs, as for `timeNames`.
 */
export const timeNamesOfSenders = [
  'T',
  't',
  'startTime',
  '_logMeta.date',
  '_meta.date',
  'written_at',
  'syslog.timestamp',
  'EdgeStartTimestamp',
  'time_iso8601',
  'time_local',
  'start_time',
  'started_at',
  'lastTimestamp',
  'eventTime',
  'stageTimestamp',
  'date_time',
  'event_time_microseconds',
  'event_time',
  'at',
  'timeStamp',
  'Datetime',
  'EventTimestampMs',
  'eventTimestamp',
  'EventTime',
  'data.date',
] as const

const dayAndTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d/
const tellsDayAndTime = (value: Json): boolean => typeof value === 'string' && dayAndTime.test(value)

/** Whether a record is of the logger that tells its time by one of these names. */
const isTimeOf: Readonly<Record<(typeof timeNamesOfSenders)[number], (record: JsonObject, value: Json) => boolean>> = {
  T: (record, value) => isZap(record) && tellsDayAndTime(value),
  t: ({ lvl, level = lvl, msg }, value) =>
    typeof level === 'string' && typeof msg === 'string' && tellsDayAndTime(value),
  startTime: (record) => isLog4js(record),
  '_logMeta.date': (record) => isTslog(record),
  '_meta.date': (record) => isTslog(record),
  written_at: ({ written_ts }, value) => written_ts !== undefined && tellsDayAndTime(value),
  'syslog.timestamp': (_record, value) => typeof value === 'string',
  EdgeStartTimestamp: ({ RayID }) => typeof RayID === 'string',
  time_iso8601: (_record, value) => tellsDayAndTime(value),
  time_local: (_record, value) => typeof value === 'string',
  start_time: ({ response_flags }, value) => response_flags !== undefined && tellsDayAndTime(value),
  started_at: ({ latencies }, value) => isJsonObject(latencies) && typeof value === 'number',
  lastTimestamp: (record, value) => isKubernetesEvent(record) && tellsDayAndTime(value),
  eventTime: (record, value) =>
    (isKubernetesEvent(record) || typeof record['eventSource'] === 'string') && tellsDayAndTime(value),
  stageTimestamp: ({ auditID }, value) => typeof auditID === 'string' && tellsDayAndTime(value),
  date_time: (record) => isClickhouse(record),
  event_time_microseconds: (record) => isClickhouse(record),
  event_time: (record) => isClickhouse(record),
  at: (record, value) => isKatip(record) && tellsDayAndTime(value),
  timeStamp: ({ resourceId }, value) => typeof resourceId === 'string' && tellsDayAndTime(value),
  Datetime: ({ RayID }) => typeof RayID === 'string',
  EventTimestampMs: ({ ScriptName }) => ScriptName !== undefined,
  eventTimestamp: ({ scriptName }) => scriptName !== undefined,
  EventTime: (record) => isNxlog(record),
  'data.date': ({ log_id }, value) => typeof log_id === 'string' && tellsDayAndTime(value),
}
const timesOfSenders: ReadonlyMap<string, (record: JsonObject, value: Json) => boolean> = new Map(
  Object.entries(isTimeOf),
)

/** False: what stands here by such a name is no time of the record. */
export const mayDate = (name: string, record: JsonObject, value: Json): boolean =>
  timesOfSenders.get(name)?.(record, value) ?? true

/** GELF: a version is text, of which some make a number. */
export const isGelf = ({ short_message, version }: JsonObject): boolean =>
  short_message !== undefined && (version === '1.1' || version === '1.0' || version === 1.1 || version === 1)

/** zap's development configuration: `L T N C M S`, with levels in whole words. */
const isZap = ({ L, M }: JsonObject): boolean =>
  typeof M === 'string' && typeof L === 'string' && L.length > 1 && levelByName(L) !== undefined

/** log4js, an event as it is. */
const isLog4js = ({ categoryName, data, level }: JsonObject): boolean =>
  typeof categoryName === 'string' &&
  Array.isArray(data) &&
  isJsonObject(level) &&
  typeof level['levelStr'] === 'string'

/** ClickHouse, its log as JSON and a row of its table of logs. */
const isClickhouse = ({ logger_name, query_id }: JsonObject): boolean =>
  typeof logger_name === 'string' && typeof query_id === 'string'

/** Haskell's katip: the names of a program and of the place in it are lists. */
const isKatip = ({ app, ns, sev }: JsonObject): boolean =>
  Array.isArray(app) && Array.isArray(ns) && typeof sev === 'string'
const katipLevels = namesOf(['sev'])

/** electron-log, as its transport to a server writes it. */
const isElectronLog = ({ variables, level, data }: JsonObject): boolean =>
  isJsonObject(variables) && typeof level === 'string' && Array.isArray(data)

/** consola's numbers are less the worse (LogLevels), which would be others' traces. */
const ofConsola: readonly Level[] = ['error', 'warn', 'info', 'info', 'debug', 'trace']

/** consola, a record as its reporters are given it; a level without an end, its most verbose one, is null in JSON. */
const isConsola = ({ type, tag, args, date, level }: JsonObject): boolean =>
  typeof type === 'string' &&
  typeof tag === 'string' &&
  Array.isArray(args) &&
  date !== undefined &&
  (level === null || ofConsola[numberOf(level)] !== undefined)

/** Python's Eliot: each record has its place in a task, and says what began or ended there, or what was told within. */
const isEliot = ({ task_uuid, task_level }: JsonObject): boolean =>
  typeof task_uuid === 'string' && Array.isArray(task_level)

/** What its action was, whether that has begun or ended, and why it failed. */
function messageOfEliot({ message_type, action_type, action_status, reason }: JsonObject): string | undefined {
  const said = textsOf([message_type ?? action_type ?? '', action_status ?? ''])?.trim()
  if (said === undefined || said === '') return undefined
  return typeof reason === 'string' ? `${said}: ${reason}` : said
}

const levelOfEliot = (record: JsonObject): Level | undefined => {
  if (!isEliot(record)) return undefined
  const isFailure = record['action_status'] === 'failed' || typeof record['traceback'] === 'string'
  return isFailure ? 'error' : undefined
}

/** tslog, a record as its transports are given it: since 5 with `_logMeta`. */
function isTslog(record: JsonObject): boolean {
  const meta = record['_logMeta'] ?? record['_meta']
  return isJsonObject(meta) && typeof meta['logLevelName'] === 'string'
}

export const levelOfConsola = (record: JsonObject): Level | undefined =>
  isConsola(record) ? (levelByName(record['type']) ?? ofConsola[numberOf(record['level'] ?? 5)]) : undefined

/** go-zero's own words, beside its message: what took too long, and what its program counts every minute. */
const wordsOfGoZero: Readonly<Record<string, Level>> = { slow: 'warn', stat: 'info' }
function levelOfGoZero(record: JsonObject): Level | undefined {
  const { level, content } = record
  const isGoZero = typeof content === 'string' && record['@timestamp'] !== undefined
  return isGoZero && typeof level === 'string' && Object.hasOwn(wordsOfGoZero, level) ? wordsOfGoZero[level] : undefined
}

/** log4js, lambda-log, tslog, and python-logstash's first format. */
const levelNamesOfSenders = namesOf([
  'level.levelStr',
  '_logLevel',
  '_logMeta.logLevelName',
  '_meta.logLevelName',
  '@fields.levelname',
])
/** Python's numbers, where the level has a name of its program's own. */
const pythonNumbers = namesOf(['levelno', 'record.level.no'])
/** How Python names a level that has no name, by its number (logging.getLevelName), of its JSON formatters and New Relic's. */
const pythonNames = namesOf(['levelname', 'log.level'])
const levelByUnnamed = (value: Json): Level | undefined =>
  levelByPython(typeof value === 'string' ? /^level (\d{1,3})$/i.exec(value)?.[1] : undefined)
/** Datadog's name, of LoggerJSON too, and Elastic's. */
const syslogNumbers = namesOf(['syslog.severity', 'log.syslog.severity.code'])

const levelOf = (record: JsonObject): Level | undefined =>
  firstOf(record, levelNamesOfSenders, levelByName) ??
  firstOf(record, pythonNumbers, levelByPython) ??
  firstOf(record, pythonNames, levelByUnnamed) ??
  firstOf(record, syslogNumbers, (value) => levelBySyslog(value) ?? levelByName(value)) ??
  (isZap(record) ? levelByName(record['L']) : undefined) ??
  (isKatip(record) ? firstOf(record, katipLevels, levelByName) : undefined) ??
  levelOfGoZero(record) ??
  levelOfEliot(record)

/** The texts among what a logger's caller passed, one by one. */
export function textsOf(value: Json | undefined): string | undefined {
  const texts = Array.isArray(value) ? value.filter((part) => typeof part === 'string') : []
  return texts.length === 0 ? undefined : texts.join(' ')
}

/** What was passed to tslog stands by its place. */
function placedTexts(record: JsonObject): string | undefined {
  const placed: Json[] = []
  for (let place = 0; Object.hasOwn(record, String(place)); place++) placed.push(record[String(place)] as Json)
  return textsOf(placed)
}

/** LogTape, a record as its sinks are given it: the message as texts and the values between them, the first and the last a text. */
export function messageOfLogtape({ category, message, rawMessage, level }: JsonObject): string | undefined {
  if (!Array.isArray(category) || !Array.isArray(message) || rawMessage === undefined) return undefined
  const parts = message as readonly Json[]
  const isInTurn = parts.length % 2 === 1 && parts.every((part, n) => n % 2 === 1 || typeof part === 'string')
  if (typeof level !== 'string' || !isInTurn) return undefined
  return parts.map(textOrJson).join('')
}

function messageOf(record: JsonObject): string | undefined {
  const { data, args, M } = record
  if (isLog4js(record) || isElectronLog(record)) return textsOf(data)
  if (isConsola(record)) return textsOf(args)
  if (isZap(record)) return M as string
  if (isEliot(record)) return messageOfEliot(record)
  return isTslog(record) ? placedTexts(record) : undefined
}

/** Of tslog, evlog's wide events and ECS, a record that was made of an error and nothing else. */
const errorMessages = namesOf(['error.message', 'err.message'])
/** So of zerolog's `Send` and Go's other loggers. */
const errorTexts = namesOf(['error', 'err'])
/** How such a field says that there was no error, as in an access log. */
const noError = /^\s*(?:-|0|none|null|<?nil>?|false|undefined)\s*$/i
const asError = (value: Json): string | undefined =>
  typeof value === 'string' && !noError.test(value) ? value : undefined

/** Rust's tracing has so what a function returned as its error (`instrument(err)`), without a message. */
const errorTextsOfRust = namesOf(['error', 'err', 'fields.error'])

export const messageOfError = (record: JsonObject, isLevelled: (record: JsonObject) => boolean): string | undefined =>
  firstOf(record, errorMessages, asText) ??
  (isLevelled(record)
    ? firstOf(record, typeof record['target'] === 'string' ? errorTextsOfRust : errorTexts, asError)
    : undefined)

/** Of .NET's JSON console: what the log was written in, from outside in; one of these is the span. */
function idsInScopes({ LogLevel, Scopes }: JsonObject): IdsInText | undefined {
  if (typeof LogLevel !== 'string' || !Array.isArray(Scopes)) return undefined
  for (const scope of Scopes as readonly Json[]) {
    if (!isJsonObject(scope)) continue
    const traceId = traceIdOf(scope['TraceId'])
    if (traceId !== undefined) return { traceId, spanId: spanIdOf(scope['SpanId']) }
  }
  return undefined
}

/**
 * python-logstash-async has there what the caller adds, Elastic's shippers syslog's program. As aliases they would keep an `extra` or a `log`
 * beside a list from records with a service.
 */
const extraServices = namesOf(['extra.service', 'log.syslog.appname'])

/** bunyan demands the name of the program; its records are of version 0, whatever its own is. */
const isBunyan = ({ v, hostname, pid }: JsonObject): boolean =>
  v === 0 && typeof hostname === 'string' && typeof pid === 'number'
const bunyanServices = namesOf(['name'])

/** PHP's Monolog, as its formatters for JSON, Logstash, Loggly and Google Cloud write it. */
const isMonolog = ({ channel, level_name, monolog_level, extra, severity }: JsonObject): boolean =>
  typeof channel === 'string' &&
  (typeof level_name === 'string' ||
    typeof monolog_level === 'number' ||
    (extra !== undefined && levelByName(severity) !== undefined))
const monologServices = namesOf(['context.service'])
/** Its formatter for Logstash demands the name of the program, and writes it as the type. */
const monologServicesForLogstash = namesOf(['context.service', 'type'])

/** logback's own JsonEncoder. */
const isLogback = ({ loggerName, context }: JsonObject): boolean =>
  typeof loggerName === 'string' && isJsonObject(context) && typeof context['birthdate'] === 'number'
const logbackServices = namesOf(['context.properties.service', 'context.properties.service.name', 'context.name'])
/** How logback names a context that nobody has named. */
const unnamedContext = 'default'

/** What formatters of Ruby's Logger are given, and write by these names. */
const isRuby = ({ severity }: JsonObject): boolean => typeof severity === 'string'
const rubyServices = namesOf(['progname'])
/** Its own format has `--` for a program without a name; others write `-`, as syslog does. */
const asProgram = (value: Json): string | undefined =>
  typeof value === 'string' && /[^\s-]/.test(value) ? value : undefined

/** Fields that are not GELF's own begin so. */
const gelfServices = namesOf(['_service', '_service_name', '_app', '_application', '_container_name'])

/** NXLog's records of Windows and others. */
const isNxlog = ({ SourceModuleName }: JsonObject): boolean => typeof SourceModuleName === 'string'
const nxlogServices = namesOf(['SourceName'])

const katipServices = namesOf(['app'])
const joined = (value: Json): string | undefined =>
  Array.isArray(value) && value.every((part) => typeof part === 'string') ? value.join('.') || undefined : undefined

/** PM2, what a program printed, as it keeps it with `log_type: json`. */
const isPm2 = ({ process_id, type }: JsonObject): boolean =>
  typeof process_id === 'number' && (type === 'out' || type === 'err')
const pm2Services = namesOf(['app_name'])

/** New Relic's agents name with each record what it is of, until they are connected without its id. An `entity` with a type may be anything. */
const newRelicServices = namesOf(['entity.name'])
const isOfNewRelic = (record: JsonObject): boolean =>
  typeof fieldOf(record, 'entity.guid') === 'string' || record['entity.type'] === 'SERVICE'

function serviceOfProgram(record: JsonObject): string | undefined {
  if (isKatip(record)) return firstOf(record, katipServices, joined)
  if (isPm2(record)) return firstOf(record, pm2Services, asText)
  return isOfNewRelic(record) ? firstOf(record, newRelicServices, asText) : undefined
}

function serviceOfLogger(record: JsonObject): string | undefined {
  if (isGelf(record)) return firstOf(record, gelfServices, asText)
  if (isNxlog(record)) return firstOf(record, nxlogServices, asText)
  if (isBunyan(record)) return firstOf(record, bunyanServices, asText)
  if (isMonolog(record)) {
    const isForLogstash = record['monolog_level'] !== undefined
    return firstOf(record, isForLogstash ? monologServicesForLogstash : monologServices, asText)
  }
  if (!isLogback(record)) return isRuby(record) ? firstOf(record, rubyServices, asProgram) : undefined
  return firstOf(record, logbackServices, (value, name) =>
    name === 'context.name' && value === unnamedContext ? undefined : asText(value),
  )
}

/** Logstash's name for syslog's program, and that logger's for its own; alone it may be anything. */
function serviceOf(record: JsonObject): string | undefined {
  const added = firstOf(record, extraServices, asText) ?? serviceOfLogger(record) ?? serviceOfProgram(record)
  const { program, logsource } = record
  if (added !== undefined || typeof logsource !== 'string') return added
  return program === undefined ? undefined : asProgram(program)
}

export const senders = { level: levelOf, message: messageOf, service: serviceOf, ids: idsInScopes } satisfies Dialect
