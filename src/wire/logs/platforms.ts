import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Level } from '#src/events/telemetry.ts'
import type { Dialect } from './dialect.ts'
import { asText, firstOf, namesOf } from './fields.ts'
import { levelByName } from './level.ts'

// Formats in which hosting platforms write about the programs that they run, recognised by the fields around, as in senders.ts.

const objectsIn = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : []

/** A call of a Cloudflare Worker with everything logged in it, as Logpush sends it, or with lower-case names as a tail worker receives it. */
type Call = Readonly<{
  outcome: string
  script: Json | undefined
  logs: readonly JsonObject[]
  exceptions: readonly JsonObject[]
}>

function callOf(record: JsonObject): Call | undefined {
  const { Outcome, ScriptName, Logs, Exceptions, outcome, scriptName, logs, exceptions } = record
  if (typeof Outcome === 'string' && ScriptName !== undefined) {
    return { outcome: Outcome, script: ScriptName, logs: objectsIn(Logs), exceptions: objectsIn(Exceptions) }
  }
  if (typeof outcome !== 'string' || scriptName === undefined || !Array.isArray(logs)) return undefined
  return { outcome, script: scriptName, logs: objectsIn(logs), exceptions: objectsIn(exceptions) }
}

/** Worst first. */
const worst: readonly Level[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace']
/** Outcomes that mean a call ended early. Other formats have names and outcomes of programs too, such as `success`. */
const endedEarly: ReadonlySet<string> = new Set([
  'exception',
  'exceededCpu',
  'exceededMemory',
  'exceededWallTime',
  'scriptNotFound',
  'loadShed',
  'killSwitch',
  'daemonDown',
  'internalError',
  'unknown',
])

function levelOfCall({ outcome, logs, exceptions }: Call): Level | undefined {
  if (endedEarly.has(outcome) || exceptions.length > 0) return 'error'
  const said = new Set(logs.map((log) => levelByName(log['Level'] ?? log['level'])))
  return worst.find((level) => said.has(level))
}

/** The texts among the values that were passed to `console`. */
const partsOf = (value: Json | undefined): readonly string[] =>
  (Array.isArray(value) ? (value as readonly Json[]) : [value]).filter((part) => typeof part === 'string')

function messageOfCall({ logs, exceptions }: Call): string | undefined {
  const said = logs.map((log) => partsOf(log['Message'] ?? log['message']).join(' '))
  const thrown = exceptions.map((error) =>
    [...partsOf(error['Name'] ?? error['name']), ...partsOf(error['Message'] ?? error['message'])].join(': '),
  )
  const text = [...said, ...thrown].filter((line) => line !== '').join('\n')
  return text === '' ? undefined : text
}

/** Supabase and Logflare: the line as text, and the parsed fields beside it, in some cases as a list of one. */
const isOfSupabase = ({ event_message, timestamp }: JsonObject): boolean =>
  typeof event_message === 'string' && timestamp !== undefined
const first = (value: Json | undefined): JsonObject => {
  const found = Array.isArray(value) ? (value as readonly Json[])[0] : value
  return isJsonObject(found) ? found : {}
}

function levelOfSupabase(record: JsonObject): Level | undefined {
  const metadata = first(record['metadata'])
  return levelByName(metadata['level']) ?? levelByName(first(metadata['parsed'])['error_severity'])
}

/**
 * Auth0's log stream; each entry has a date. A type is a code whose beginning tells the result, or a word whose end tells it (auth0.com/docs, "Log
 * Event Type Codes").
 */
const isOfAuth0 = ({ log_id, data }: JsonObject): boolean =>
  typeof log_id === 'string' &&
  isJsonObject(data) &&
  typeof data['type'] === 'string' &&
  typeof data['date'] === 'string'
const auth0Messages = namesOf(['data.description', 'data.type'])

function levelOfAuth0(record: JsonObject): Level | undefined {
  const { type } = first(record['data'])
  if (typeof type !== 'string') return undefined
  if (type === 'w') return 'warn'
  const [, outcome = ''] = (type.includes('_') ? /_(fail|complete|succeed)(?:ed|ure|d)?$/ : /^([fs])/).exec(type) ?? []
  if (outcome === '') return undefined
  return outcome.startsWith('f') ? 'error' : 'info'
}

/** AWS Lambda's record of an error that nobody caught; then an event of AWS EventBridge. */
const isOfLambdaError = ({ errorType, errorMessage }: JsonObject): boolean =>
  typeof errorType === 'string' && typeof errorMessage === 'string'
const isOfEventBridge = ({ source, detail }: JsonObject): boolean => typeof source === 'string' && isJsonObject(detail)
const eventMessages = namesOf(['detail-type'])

function levelOf(record: JsonObject): Level | undefined {
  const call = callOf(record)
  if (call !== undefined) return levelOfCall(call)
  if (isOfAuth0(record)) return levelOfAuth0(record)
  return isOfSupabase(record) ? levelOfSupabase(record) : undefined
}

function messageOf(record: JsonObject): string | undefined {
  const call = callOf(record)
  if (call !== undefined) return messageOfCall(call)
  if (isOfSupabase(record)) return asText(record['event_message'] as Json)
  if (isOfAuth0(record)) return firstOf(record, auth0Messages, asText)
  if (isOfLambdaError(record)) return asText(record['errorMessage'] as Json)
  return isOfEventBridge(record) ? firstOf(record, eventMessages, asText) : undefined
}

/** journald's program name, for a program that gives no other name (systemd.journal-fields). */
const ofJournald = namesOf(['_COMM'])

function serviceOf(record: JsonObject): string | undefined {
  const call = callOf(record)
  return typeof call?.script === 'string' ? call.script : firstOf(record, ofJournald, asText)
}

export const platforms = { level: levelOf, message: messageOf, service: serviceOf } satisfies Dialect
