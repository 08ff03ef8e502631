import { isJsonObject, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Level } from '#src/events/telemetry.ts'
import type { Dialect } from './dialect.ts'
import { asText, firstOf, namesOf } from './fields.ts'
import { spanIdOf, traceIdOf } from './ids.ts'
import type { IdsInText } from './ids-in-text.ts'
import { levelByName, levelByNumber, levelBySeverityNumber, numberOf } from './level.ts'

// What servers and clouds write in a way of their own, told by what stands beside it, as in senders.ts.

const isText = (value: Json | undefined): value is string => typeof value === 'string'

/** Google Cloud's LogEntry, as it is read and exported; what the program said is one of its payloads. */
const isLogEntry = ({ insertId, logName }: JsonObject): boolean => isText(insertId) && isText(logName)
const entryMessages = namesOf(['textPayload', 'jsonPayload.message', 'jsonPayload.msg'])
const entryLevels = namesOf(['jsonPayload.level', 'jsonPayload.severity'])
const entryServices = namesOf([
  'resource.labels.service_name',
  'resource.labels.function_name',
  'resource.labels.container_name',
  'resource.labels.module_id',
])

/** A diagnostic log of Azure: of its functions, of Kubernetes, and of what else prints lines. */
const isOfAzure = ({ resourceId, category }: JsonObject): boolean =>
  isText(resourceId) && resourceId.startsWith('/') && isText(category)
/** Its levels as numbers are those of .NET's EventLevel, as of sign-ins: critical, error, warning, informational, verbose. */
const ofAzure: readonly (Level | undefined)[] = [undefined, 'fatal', 'error', 'warn', 'info', 'debug']
const azureMessages = namesOf(['properties.message', 'properties.log', 'resultDescription'])

/** Azure's Application Insights, a row of one of its tables. */
const isOfInsights = ({ Type, AppRoleName, OperationId }: JsonObject): boolean =>
  isText(Type) && /^App[A-Z]/.test(Type) && (isText(AppRoleName) || isText(OperationId))
const insightsMessages = namesOf(['OuterMessage', 'InnermostMessage'])
const insightsServices = namesOf(['AppRoleName'])
/** Its SeverityLevel. */
const ofInsights: readonly Level[] = ['debug', 'info', 'warn', 'error', 'fatal']
/** What is measured of a span has its id as its own; what was said in one names it as the parent. */
const idsOfInsights = ({ OperationId, ParentId, Id }: JsonObject): IdsInText | undefined =>
  both(traceIdOf(OperationId), spanIdOf(Id) ?? spanIdOf(ParentId))

/** What was logged in a function of AWS's Lambda, from CloudWatch. */
const lambdaGroup = '/aws/lambda/'
const functionOfGroup = ({ logGroup, logStream }: JsonObject): string | undefined =>
  isText(logStream) && isText(logGroup) && logGroup.startsWith(lambdaGroup)
    ? logGroup.slice(lambdaGroup.length) || undefined
    : undefined

/** A row of ClickHouse's table of logs, or a record as OpenTelemetry's data model names its fields. */
const isOfDataModel = ({ Body, SeverityText, SeverityNumber }: JsonObject): boolean =>
  Body !== undefined && Body !== null && (isText(SeverityText) || SeverityNumber !== undefined)
const dataModelServices = namesOf(['ServiceName', 'Resource.service.name', 'ResourceAttributes.service.name'])

/** A component of Kubernetes says how much must be told for a line to be told, or which error it has met (klog's InfoS and ErrorS). */
function levelOfKubernetes({ ts, caller, msg, v, err }: JsonObject): Level | undefined {
  const isOne = typeof ts === 'number' && ts >= 1e12 && isText(caller) && /\.go:\d+$/.test(caller) && isText(msg)
  if (!isOne) return undefined
  if (typeof v === 'number') return 'info'
  return isText(err) ? 'error' : undefined
}

/** logr's funcr says of what is told how much must be told for it to be, and of an error nothing but the error, a text or null. */
const isOfFuncr = ({ logger, caller, msg }: JsonObject): boolean =>
  isText(logger) && isText(msg) && isJsonObject(caller) && isText(caller['file']) && typeof caller['line'] === 'number'

function levelOfFuncr(record: JsonObject): Level | undefined {
  const { level, error } = record
  return isOfFuncr(record) && level === undefined && (error === null || isText(error)) ? 'error' : undefined
}

/** As far as Kubernetes counts. */
const verbosityMax = 10
function levelByVerbosity(value: Json): Level | undefined {
  const verbosity = numberOf(value)
  if (verbosity > 0) return verbosity <= verbosityMax ? 'debug' : undefined
  return verbosity === 0 ? 'info' : undefined
}

/** pino's, of a program whose own fields are called as those of a server or a library that has other numbers, and less of them. */
const levelByTens = (value: Json): Level | undefined => (numberOf(value) >= 10 ? levelByNumber(value) : undefined)

/** How a number that stands for a level is read: some servers and libraries have their own. */
export function levelByOwnNumber(record: JsonObject): (value: Json) => Level | undefined {
  if (isOfAzure(record)) return (value) => ofAzure[numberOf(value)] ?? levelByTens(value)
  return isOfFuncr(record) ? (value) => levelByVerbosity(value) ?? levelByTens(value) : levelByNumber
}

export const isKubernetesEvent = ({ involvedObject, reason }: JsonObject): boolean =>
  isJsonObject(involvedObject) && isText(reason)

/** MySQL's sink for JSON: system, error, warning, note. */
const ofMysql: readonly Level[] = ['info', 'error', 'warn', 'info']

/** A line of a drain of Vercel; what Fly.io ships of an app says it by a name of its own. */
const isOfVercel = ({ deploymentId, source }: JsonObject): boolean => isText(deploymentId) && isText(source)
const vercelServices = namesOf(['projectName'])
const flyServices = namesOf(['fly.app.name'])

/** AWS Lambda's Telemetry API: what a function or an extension printed, a line of text or an object. */
const isOfLambda = ({ type, time, record }: JsonObject): boolean =>
  (type === 'function' || type === 'extension') && isText(time) && record !== undefined
const lambdaMessages = namesOf(['record'])
const lambdaLevels = namesOf(['record.level'])

function levelOf(record: JsonObject): Level | undefined {
  const { prio, err_code, label, type, SeverityText, SeverityNumber } = record
  if (isOfDataModel(record)) return levelByName(SeverityText) ?? levelBySeverityNumber(SeverityNumber)
  if (isLogEntry(record)) return firstOf(record, entryLevels, levelByName)
  if (isOfLambda(record)) return firstOf(record, lambdaLevels, levelByName)
  if (isOfInsights(record)) return ofInsights[numberOf(record['SeverityLevel'])]
  if (isKubernetesEvent(record)) return type === 'Normal' ? 'info' : levelByName(type)
  const isOfMysql = typeof prio === 'number' && typeof err_code === 'number' && isText(label)
  return isOfMysql ? ofMysql[prio] : (levelOfFuncr(record) ?? levelOfKubernetes(record))
}

function messageOf(record: JsonObject): string | undefined {
  const { Body, _msg } = record
  if (isOfDataModel(record)) return isText(Body) ? Body : stringifyJson(Body)
  if (isLogEntry(record)) return firstOf(record, entryMessages, asText)
  if (isOfAzure(record)) return firstOf(record, azureMessages, asText)
  if (isOfInsights(record)) return firstOf(record, insightsMessages, asText)
  if (isOfLambda(record)) return firstOf(record, lambdaMessages, asText)
  // VictoriaLogs
  return isText(_msg) ? _msg : undefined
}

const serviceOf = (record: JsonObject): string | undefined => {
  if (isOfDataModel(record)) return firstOf(record, dataModelServices, asText)
  if (isLogEntry(record)) return firstOf(record, entryServices, asText)
  if (isOfInsights(record)) return firstOf(record, insightsServices, asText)
  if (isOfVercel(record)) return firstOf(record, vercelServices, asText)
  return firstOf(record, flyServices, asText) ?? functionOfGroup(record)
}

/** Kong's log of a request says its trace in each form that was sent on. */
const kongTraces = namesOf(['trace_id.w3c'])

function idsOf(record: JsonObject): IdsInText | undefined {
  if (isOfInsights(record)) return idsOfInsights(record)
  const { trace, span, spanId } = record
  const inSpan = spanIdOf(span)
  // Of go-zero, and of the logger of Coder: alone either word may be anything.
  if (inSpan !== undefined && isText(trace)) return both(traceIdOf(trace), inSpan)
  const traceId = isLogEntry(record) ? traceIdOf(trace) : firstOf(record, kongTraces, (value) => traceIdOf(value))
  return both(traceId, spanIdOf(spanId))
}

const both = (traceId: string | undefined, spanId: string | undefined): IdsInText | undefined =>
  traceId === undefined ? undefined : { traceId, spanId }

export const servers = { level: levelOf, message: messageOf, service: serviceOf, ids: idsOf } satisfies Dialect
