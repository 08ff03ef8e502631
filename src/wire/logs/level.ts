import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'
import { withoutColours } from '#src/events/tokens.ts'
import { levelOfWord } from '#src/events/level-word.ts'
import type { Level } from '#src/events/telemetry.ts'

/** Words that senders use, in addition to those that a search accepts. */
const words: Readonly<Record<Level, string>> = {
  trace: 'trc trce finest finer silly all',
  debug: 'dbug debg debu fine config http',
  info: 'inf log success',
  warn: 'wrn',
  error: 'failure eror erro',
  fatal: 'dpanic ftl',
}
const letters: Readonly<Record<string, Level>> = {
  t: 'trace',
  v: 'trace',
  d: 'debug',
  i: 'info',
  w: 'warn',
  e: 'error',
  f: 'fatal',
}
const names: ReadonlyMap<string, Level> = new Map(
  (Object.entries(words) as [Level, string][]).flatMap(([level, list]) =>
    list.split(' ').map((word): [string, Level] => [word, level]),
  ),
)
const letter = (word: string): Level | undefined => (word.length === 1 ? letters[word] : undefined)
const nameOf = (word: string): Level | undefined => levelOfWord(word) ?? names.get(word)
/** Words that are no level in a field called `status`, where they mean something else. */
const notStatus: ReadonlySet<string> = new Set(['all', 'fine', 'http', 'log', 'config', 'failure', 'success'])
const openTelemetry: readonly Level[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']
const syslog: readonly Level[] = ['fatal', 'fatal', 'fatal', 'error', 'warn', 'info', 'info', 'debug']
/** OpenTelemetry's numbers of the levels of Go's slog, which writes levels between and beyond them as `INFO+2` (log/slog, Level.String). */
const slog: Readonly<Record<string, number>> = { debug: 5, info: 9, warn: 13, error: 17 }
const slogLevel = /^(debug|info|warn|error)([+-]\d{1,3})$/
const numeral = /^\d{1,3}(?:\.0)?$/

function levelBySlog(word: string): Level | undefined {
  const [, name = '', distance] = slogLevel.exec(word) ?? []
  const number = (slog[name] ?? Number.NaN) + Number(distance)
  return levelBySeverityNumber(Math.min(Math.max(number, 1), 24))
}

/** A level by name, in any case, with or without colours. Also OpenTelemetry's `INFO2`, slog's `INFO+2` and glog's single letters. */
export function levelByName(value: Json | undefined): Level | undefined {
  if (typeof value !== 'string' || value.length > 32) return undefined
  const word = withoutColours(value).trim().toLowerCase()
  return nameOf(word) ?? letter(word) ?? nameOf(word.replace(/[1-4]$/, '')) ?? levelBySlog(word)
}

/** `status` is a level only if it holds a level word: it may also hold the state of an HTTP request or a job. */
export function levelByStatus(value: Json | undefined): Level | undefined {
  const level = levelByName(value)
  if (level === undefined || typeof value !== 'string') return undefined
  const word = value.trim().toLowerCase()
  return word.length > 1 && !notStatus.has(word) ? level : undefined
}

/** MongoDB's severity in `s`, next to its time: F, E, W, I, and D or D1 to D5 (MongoDB manual, "Log Messages"). */
export const levelByMongodb = ({ t, s }: JsonObject): Level | undefined =>
  isJsonObject(t) && typeof t['$date'] === 'string' && typeof s === 'string' && /^(?:[FEWI]|D[1-5]?)$/.test(s)
    ? letter(s.charAt(0).toLowerCase())
    : undefined

/** OpenTelemetry's SeverityNumber, 1 to 24 in steps of four (logs data model, "Severity fields"). */
export function levelBySeverityNumber(value: Json | undefined): Level | undefined {
  const number = numberOf(value)
  return number >= 1 && number <= 24 ? openTelemetry[Math.ceil(number / 4) - 1] : undefined
}

/** A number in a level field: pino's tens (10 trace … 60 fatal) and any number above 24; otherwise OpenTelemetry's 1 to 24. */
export function levelByNumber(value: Json | undefined): Level | undefined {
  const number = numberOf(value)
  if (number === 10 || number === 20 || (number > 24 && number <= 999)) {
    return openTelemetry[Math.min(Math.floor(number / 10), 6) - 1]
  }
  return levelBySeverityNumber(number)
}

/** A level number of Python; programs define more between its tens (logging, "Logging Levels"). */
export function levelByPython(value: Json | undefined): Level | undefined {
  const number = numberOf(value)
  return number > 0 ? openTelemetry[Math.min(Math.floor(number / 10), 5)] : undefined
}

/** Syslog's severity, 0 emergency to 7 debug (RFC 5424 §6.2.1), as GELF has it in `level`. */
export const levelBySyslog = (value: Json | undefined): Level | undefined => syslog[numberOf(value)]

/** NaN if the value is no number. Objects are excluded first: `Number` throws for one with members called `toString` and `valueOf`. */
export function numberOf(value: Json | undefined): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' && numeral.test(value.trim()) ? Number(value) : Number.NaN
}
