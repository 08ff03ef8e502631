import { isJsonObject, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Level } from '#src/events/telemetry.ts'
import type { Dialect } from './dialect.ts'
import { asText, firstOf, namesOf } from './fields.ts'
import { spanIdOf, traceIdOf } from './ids.ts'
import type { IdsInText } from './ids-in-text.ts'
import { levelByName, levelByNumber, levelBySeverityNumber, numberOf } from './level.ts'

// Formats of servers and clouds, recognised by the fields around, as in senders.ts.

const isText = (value: Json | undefined): value is string => typeof value === 'string'

/** Google Cloud's LogEntry, as it is read and exported. What the program wrote is in one of the payloads. */
const isLogEntry = ({ insertId, logName }: JsonObject): boolean => isText(insertId) && isText(logName)
const entryMessages = namesOf(['textPayload', 'jsonPayload.message', 'jsonPayload.msg'])
const entryLevels = namesOf(['jsonPayload.level', 'jsonPayload.severity'])
const entryServices = namesOf([
  'resource.labels.service_name',
  'resource.labels.function_name',
  'resource.labels.container_name',
  'resource.labels.module_id',
])

/** A diagnostic log of Azure, such as of Functions, Kubernetes, or a service that prints lines. */
const isOfAzure = ({ resourceId, category }: JsonObject): boolean =>
  isText(resourceId) && resourceId.startsWith('/') && isText(category)
/** Azure's level numbers, as in sign-in logs, are those of .NET's EventLevel: critical, error, warning, informational, verbose. */
const ofAzure: readonly (Level | undefined)[] = [undefined, 'fatal', 'error', 'warn', 'info', 'debug']
const azureMessages = namesOf(['properties.message', 'properties.log', 'resultDescription'])

/** Azure's Application Insights: a row of one of its tables. */
const isOfInsights = ({ Type, AppRoleName, OperationId }: JsonObject): boolean =>
  isText(Type) && /^App[A-Z]/.test(Type) && (isText(AppRoleName) || isText(OperationId))
const insightsMessages = namesOf(['OuterMessage', 'InnermostMessage'])
const insightsServices = namesOf(['AppRoleName'])
/** Application Insights' SeverityLevel. */
const ofInsights: readonly Level[] = ['debug', 'info', 'warn', 'error', 'fatal']
/** A row about a span has the span's id as its own; a log row names the span as its parent. */
const idsOfInsights = ({ OperationId, ParentId, Id }: JsonObject): IdsInText | undefined =>
  both(traceIdOf(OperationId), spanIdOf(Id) ?? spanIdOf(ParentId))

/** The name of the AWS Lambda function that a CloudWatch log group belongs to. */
const lambdaGroup = '/aws/lambda/'
const functionOfGroup = ({ logGroup, logStream }: JsonObject): string | undefined =>
  isText(logStream) && isText(logGroup) && logGroup.startsWith(lambdaGroup)
    ? logGroup.slice(lambdaGroup.length) || undefined
    : undefined

/** A row of ClickHouse's log table, or a record with the field names of OpenTelemetry's data model. */
const isOfDataModel = ({ Body, SeverityText, SeverityNumber }: JsonObject): boolean =>
  Body !== undefined && Body !== null && (isText(SeverityText) || SeverityNumber !== undefined)
const dataModelServices = namesOf(['ServiceName', 'Resource.service.name', 'ResourceAttributes.service.name'])

/** A Kubernetes component writes the verbosity at which the line is logged, or the error (klog's InfoS and ErrorS). */
function levelOfKubernetes({ ts, caller, msg, v, err }: JsonObject): Level | undefined {
  const isOne = typeof ts === 'number' && ts >= 1e12 && isText(caller) && /\.go:\d+$/.test(caller) && isText(msg)
  if (!isOne) return undefined
  if (typeof v === 'number') return 'info'
  return isText(err) ? 'error' : undefined
}

/** logr's funcr writes the verbosity at which a line is logged; for an error it writes no verbosity, but the error, a text or null. */
const isOfFuncr = ({ logger, caller, msg }: JsonObject): boolean =>
  isText(logger) && isText(msg) && isJsonObject(caller) && isText(caller['file']) && typeof caller['line'] === 'number'

function levelOfFuncr(record: JsonObject): Level | undefined {
  const { level, error } = record
  return isOfFuncr(record) && level === undefined && (error === null || isText(error)) ? 'error' : undefined
}

/** The highest verbosity of Kubernetes. */
const verbosityMax = 10
function levelByVerbosity(value: Json): Level | undefined {
  const verbosity = numberOf(value)
  if (verbosity > 0) return verbosity <= verbosityMax ? 'debug' : undefined
  return verbosity === 0 ? 'info' : undefined
}

/** pino's numbers, from 10: a program's own fields may have the names of a server or library whose numbers are smaller. */
const levelByTens = (value: Json): Level | undefined => (numberOf(value) >= 10 ? levelByNumber(value) : undefined)

/** How a number for a level is read: some servers and libraries have numbers of their own. */
export function levelByOwnNumber(record: JsonObject): (value: Json) => Level | undefined {
  if (isOfAzure(record)) return (value) => ofAzure[numberOf(value)] ?? levelByTens(value)
  return isOfFuncr(record) ? (value) => levelByVerbosity(value) ?? levelByTens(value) : levelByNumber
}

export const isKubernetesEvent = ({ involvedObject, reason }: JsonObject): boolean =>
  isJsonObject(involvedObject) && isText(reason)

/** The priorities of MySQL's JSON sink: system, error, warning, note. */
const ofMysql: readonly Level[] = ['info', 'error', 'warn', 'info']

/** A line of a Vercel drain. Fly.io names the app of a line in a field of its own. */
const isOfVercel = ({ deploymentId, source }: JsonObject): boolean => isText(deploymentId) && isText(source)
const vercelServices = namesOf(['projectName'])
const flyServices = namesOf(['fly.app.name'])

/** AWS Lambda's Telemetry API: what a function or an extension printed, as text or as an object. */
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

/** Kong's request log has the trace id in every format that was propagated. */
const kongTraces = namesOf(['trace_id.w3c'])

function idsOf(record: JsonObject): IdsInText | undefined {
  if (isOfInsights(record)) return idsOfInsights(record)
  const { trace, span, spanId } = record
  const inSpan = spanIdOf(span)
  // go-zero and Coder's logger write both names; either alone may be anything.
  if (inSpan !== undefined && isText(trace)) return both(traceIdOf(trace), inSpan)
  const traceId = isLogEntry(record) ? traceIdOf(trace) : firstOf(record, kongTraces, (value) => traceIdOf(value))
  return both(traceId, spanIdOf(spanId))
}

const both = (traceId: string | undefined, spanId: string | undefined): IdsInText | undefined =>
  traceId === undefined ? undefined : { traceId, spanId }

export const servers = { level: levelOf, message: messageOf, service: serviceOf, ids: idsOf } satisfies Dialect
