import { isJsonObject, textOrJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Level } from '#src/events/telemetry.ts'
import type { Dialect } from './dialect.ts'
import { asText, fieldOf, firstOf, namesOf } from './fields.ts'
import type { IdsInText } from './ids-in-text.ts'
import { spanIdOf, traceIdOf } from './ids.ts'
import { levelByName, levelByPython, levelBySyslog, numberOf } from './level.ts'
import { isKubernetesEvent } from './servers.ts'

// Formats of single loggers, recognised by the fields around. Elsewhere their names mean something else, so they are not aliases, and splitting a
// body does not use them. They are tried last, if the usual names give nothing.

/**
 * Names of time fields: of zap's development configuration, log15 and Grafana, log4js, tslog, SAP's loggers, Elixir's LoggerJSON and Cloudflare; of
 * request logs of nginx, Envoy and Kong; of audit logs of AWS and Kubernetes; of ClickHouse, Azure's gateways, Cloudflare's firewall and Workers,
 * NXLog and Auth0.
 * If you change these, raise the version of the projection of logs, as for `timeNames`.
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

/** Whether a record is of the logger that writes its time under this name. */
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

/** False if a value under such a name is not the record's time. */
export const mayDate = (name: string, record: JsonObject, value: Json): boolean =>
  timesOfSenders.get(name)?.(record, value) ?? true

/** GELF. Its version is a text; some senders write a number. */
export const isGelf = ({ short_message, version }: JsonObject): boolean =>
  short_message !== undefined && (version === '1.1' || version === '1.0' || version === 1.1 || version === 1)

/** zap's development configuration: `L T N C M S`, with the level as a whole word. */
const isZap = ({ L, M }: JsonObject): boolean =>
  typeof M === 'string' && typeof L === 'string' && L.length > 1 && levelByName(L) !== undefined

/** An event of log4js, unformatted. */
const isLog4js = ({ categoryName, data, level }: JsonObject): boolean =>
  typeof categoryName === 'string' &&
  Array.isArray(data) &&
  isJsonObject(level) &&
  typeof level['levelStr'] === 'string'

/** ClickHouse: its log as JSON, or a row of its log table. */
const isClickhouse = ({ logger_name, query_id }: JsonObject): boolean =>
  typeof logger_name === 'string' && typeof query_id === 'string'

/** Haskell's katip: the names of the program and of the namespace are lists. */
const isKatip = ({ app, ns, sev }: JsonObject): boolean =>
  Array.isArray(app) && Array.isArray(ns) && typeof sev === 'string'
const katipLevels = namesOf(['sev'])

/** electron-log, as its HTTP transport writes it. */
const isElectronLog = ({ variables, level, data }: JsonObject): boolean =>
  isJsonObject(variables) && typeof level === 'string' && Array.isArray(data)

/** consola's levels, 0 the worst (LogLevels). For other loggers such numbers would mean trace. */
const ofConsola: readonly Level[] = ['error', 'warn', 'info', 'info', 'debug', 'trace']

/** A record as consola's reporters receive it. Its most verbose level is Infinity, which is null in JSON. */
const isConsola = ({ type, tag, args, date, level }: JsonObject): boolean =>
  typeof type === 'string' &&
  typeof tag === 'string' &&
  Array.isArray(args) &&
  date !== undefined &&
  (level === null || ofConsola[numberOf(level)] !== undefined)

/** Python's Eliot: each record has its place in a task, and tells that an action began or ended, or a message within it. */
const isEliot = ({ task_uuid, task_level }: JsonObject): boolean =>
  typeof task_uuid === 'string' && Array.isArray(task_level)

/** The message or action, whether the action started or ended, and why it failed. */
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

/** A record as tslog's transports receive it; since version 5 with `_logMeta`. */
function isTslog(record: JsonObject): boolean {
  const meta = record['_logMeta'] ?? record['_meta']
  return isJsonObject(meta) && typeof meta['logLevelName'] === 'string'
}

export const levelOfConsola = (record: JsonObject): Level | undefined =>
  isConsola(record) ? (levelByName(record['type']) ?? ofConsola[numberOf(record['level'] ?? 5)]) : undefined

/** Levels that only go-zero has: slow operations, and the statistics that it logs every minute. */
const wordsOfGoZero: Readonly<Record<string, Level>> = { slow: 'warn', stat: 'info' }
function levelOfGoZero(record: JsonObject): Level | undefined {
  const { level, content } = record
  const isGoZero = typeof content === 'string' && record['@timestamp'] !== undefined
  return isGoZero && typeof level === 'string' && Object.hasOwn(wordsOfGoZero, level) ? wordsOfGoZero[level] : undefined
}

/** log4js, lambda-log, tslog, and Logstash's first format, as winston and python-logstash write it. */
const levelNamesOfSenders = namesOf([
  'level.levelStr',
  '_logLevel',
  '_logMeta.logLevelName',
  '_meta.logLevelName',
  '@fields.level',
  '@fields.levelname',
])
/** Python's level numbers, for levels that have names of the program's own. */
const pythonNumbers = namesOf(['levelno', 'record.level.no'])
/** The name that Python gives a level without a name (logging.getLevelName), in its JSON formatters and New Relic's. */
const pythonNames = namesOf(['levelname', 'log.level'])
const levelByUnnamed = (value: Json): Level | undefined =>
  levelByPython(typeof value === 'string' ? /^level (\d{1,3})$/i.exec(value)?.[1] : undefined)
/** Datadog's name, used by LoggerJSON too, and Elastic's. */
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

/** The texts among the values that were passed to a logger, joined by spaces. */
export function textsOf(value: Json | undefined): string | undefined {
  const texts = Array.isArray(value) ? value.filter((part) => typeof part === 'string') : []
  return texts.length === 0 ? undefined : texts.join(' ')
}

/** tslog writes each value that was passed under its index. */
function placedTexts(record: JsonObject): string | undefined {
  const placed: Json[] = []
  for (let place = 0; Object.hasOwn(record, String(place)); place++) placed.push(record[String(place)] as Json)
  return textsOf(placed)
}

/** A record as LogTape's sinks receive it. Its message alternates texts and values, beginning and ending with a text. */
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

/** For a record that was made of nothing but an error: by tslog, evlog's wide events and ECS. */
const errorMessages = namesOf(['error.message', 'err.message'])
/** The same from zerolog's `Send` and other Go loggers. */
const errorTexts = namesOf(['error', 'err'])
/** Values by which such a field says that there was no error, as in an access log. */
const noError = /^\s*(?:-|0|none|null|<?nil>?|false|undefined)\s*$/i
const asError = (value: Json): string | undefined =>
  typeof value === 'string' && !noError.test(value) ? value : undefined

/** Rust's tracing writes the error that a function returned (`instrument(err)`) like this, without a message. */
const errorTextsOfRust = namesOf(['error', 'err', 'fields.error'])

export const messageOfError = (record: JsonObject, isLevelled: (record: JsonObject) => boolean): string | undefined =>
  firstOf(record, errorMessages, asText) ??
  (isLevelled(record)
    ? firstOf(record, typeof record['target'] === 'string' ? errorTextsOfRust : errorTexts, asError)
    : undefined)

/** The ids among the fields of Logstash's first format. */
function idsOfLogstash({ '@fields': fields }: JsonObject): IdsInText | undefined {
  if (!isJsonObject(fields)) return undefined
  const traceId = traceIdOf(fields['trace_id'] ?? fields['traceId'])
  return traceId === undefined ? undefined : { traceId, spanId: spanIdOf(fields['span_id'] ?? fields['spanId']) }
}

/** The scopes of .NET's JSON console, from the outermost on; one of them has the ids of the span. */
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
 * python-logstash-async puts here what the caller adds, Elastic's shippers syslog's program, Logstash's first format all fields, Google's loggers
 * labels. As aliases they would keep an `extra` or a `log` beside a list from records with a service.
 */
const extraServices = namesOf([
  'extra.service',
  'log.syslog.appname',
  '@fields.service',
  'logging.googleapis.com/labels.service',
])

/** bunyan requires the program's name. `v` is the version of its record format, always 0. */
const isBunyan = ({ v, hostname, pid }: JsonObject): boolean =>
  v === 0 && typeof hostname === 'string' && typeof pid === 'number'
const bunyanServices = namesOf(['name'])

/** PHP's Monolog, as its JSON, Logstash, Loggly and Google Cloud formatters write it. */
const isMonolog = ({ channel, level_name, monolog_level, extra, severity }: JsonObject): boolean =>
  typeof channel === 'string' &&
  (typeof level_name === 'string' ||
    typeof monolog_level === 'number' ||
    (extra !== undefined && levelByName(severity) !== undefined))
const monologServices = namesOf(['context.service'])
/** Monolog's Logstash formatter requires the program's name, and writes it as the type. */
const monologServicesForLogstash = namesOf(['context.service', 'type'])

/** logback's own JsonEncoder. */
const isLogback = ({ loggerName, context }: JsonObject): boolean =>
  typeof loggerName === 'string' && isJsonObject(context) && typeof context['birthdate'] === 'number'
const logbackServices = namesOf(['context.properties.service', 'context.properties.service.name', 'context.name'])
/** logback's name for a context without a name. */
const unnamedContext = 'default'

/** Ruby's Logger passes these names to its formatters, which write them. */
const isRuby = ({ severity }: JsonObject): boolean => typeof severity === 'string'
const rubyServices = namesOf(['progname'])
/** Ruby's own format writes `--` for a program without a name; others write `-`, like syslog. */
const asProgram = (value: Json): string | undefined =>
  typeof value === 'string' && /[^\s-]/.test(value) ? value : undefined

/** The prefix of fields that are not GELF's own. */
const gelfServices = namesOf(['_service', '_service_name', '_app', '_application', '_container_name'])

/** NXLog's records, of Windows and of other sources. */
const isNxlog = ({ SourceModuleName }: JsonObject): boolean => typeof SourceModuleName === 'string'
const nxlogServices = namesOf(['SourceName'])

const katipServices = namesOf(['app'])
const joined = (value: Json): string | undefined =>
  Array.isArray(value) && value.every((part) => typeof part === 'string') ? value.join('.') || undefined : undefined

/** A line that a program printed, as PM2 stores it with `log_type: json`. */
const isPm2 = ({ process_id, type }: JsonObject): boolean =>
  typeof process_id === 'number' && (type === 'out' || type === 'err')
const pm2Services = namesOf(['app_name'])

/**
 * New Relic's agents name the entity with each record; before they are connected, without its guid. An `entity` with another type may be anything.
 */
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

/** Logstash's name for syslog's program, and logstash-logger's for its own. Without `logsource` it may be anything. */
function serviceOf(record: JsonObject): string | undefined {
  const added = firstOf(record, extraServices, asText) ?? serviceOfLogger(record) ?? serviceOfProgram(record)
  const { program, logsource } = record
  if (added !== undefined || typeof logsource !== 'string') return added
  return program === undefined ? undefined : asProgram(program)
}

const idsOf = (record: JsonObject): IdsInText | undefined => idsInScopes(record) ?? idsOfLogstash(record)

export const senders = { level: levelOf, message: messageOf, service: serviceOf, ids: idsOf } satisfies Dialect
