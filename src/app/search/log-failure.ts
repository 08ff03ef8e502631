import { isJsonObject } from '#src/lib/json.ts'
import { isOfLines } from '../format.ts'
import { oneLine, type Condition } from './clause.ts'
import { dottedFields } from './field-table.ts'

// Names under which loggers put an error beside their message: pino and bunyan (`err.message`), ECS, winston and Datadog (`error.message`,
// `error.kind`), OpenTelemetry (`exception.type`), Monolog (`context.exception.class`), loguru (`record.exception.value`), log4j (`thrown.name`),
// logback (`throwable.className`), Quarkus and WildFly (`exception.exceptionType`, in Quarkus's ECS beside `exception.error.message`), structlog's
// dicts (`exception.exc_type`, in a list that begins with what was raised last).
// As one text: Go's and Rust's loggers (`error`, `err`), structlog, .NET and NLog (`exception`), Python's JSON formatters (`exc_info`), logback's
// Logstash encoder (`stack_trace`), Serilog (`@x`).

const saidWithin = /(?:^|\.)(?:err|error|exception|thrown|throwable)\.(?:message|msg|value|exc_value)$/i
const typeWithin =
  /(?:^|\.)(?:err|error|exception|thrown|throwable)\.(?:type|name|kind|class|className|exceptionType|exc_type)$/i
const asOneText = /(?:^|\.)(?:err|error|exception)$/i
const asStack = /(?:^|\.)(?:exc_info|exc_text|stack|stacktrace|stack_trace|@x)$/i

/** Go's stack traces (zap's `stacktrace`, debug.Stack) tell where a record was written, and name no error. */
const callsOfGo = /^(?:goroutine \d{1,20} \[|\S{1,512}\n\t\S+:\d)/

type Named = readonly [name: string, text: string]

/** A dotted name without its last part. */
const outerOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('.')))

/** The line of a text that names the error: the last of a Python stack trace, otherwise the first; Quarkus's begins with a colon. */
function lineOf(text: string): string {
  const lines = text.split(/[\r\n]+/).filter((line) => line.trim() !== '')
  const line = (text.includes('Traceback (most recent call last)') ? lines.at(-1) : lines[0]) ?? ''
  return line.replace(/^: /, '').trim()
}

/** Whether the message already says it. A stack trace says the message after the error's type. */
const isSaid = (line: string, message: string): boolean =>
  message.includes(line) || (line.endsWith(`: ${message}`) && /^\S+: /.test(line))

type Log = Readonly<{ message: string; fields: Readonly<Record<string, unknown>> }>

/** Fields named as in the index, which enters lists. */
const rowsOf = (fields: Log['fields']): ReturnType<typeof dottedFields> =>
  dottedFields(fields).flatMap((row) => {
    const first: unknown = Array.isArray(row.value) && asOneText.test(row.name) ? row.value[0] : undefined
    return isJsonObject(first) ? dottedFields(first, `${row.name}.`) : [row]
  })

const textsOf = ({ fields }: Log): readonly Named[] =>
  rowsOf(fields).flatMap(({ name, value }): readonly Named[] =>
    typeof value === 'string' && /\S/.test(value) && !(asStack.test(name) && callsOfGo.test(value))
      ? [[name, value]]
      : [],
  )

/** The error in a record's own words; undefined if it has none, or the message says the same. */
export function logFailureOf(log: Log): string | undefined {
  const texts = textsOf(log)
  const find = (names: RegExp): Named | undefined => texts.find(([name]) => names.test(name))
  const said = find(saidWithin) ?? find(asOneText) ?? find(asStack)
  const isOfIt = ([name]: Named): boolean =>
    said === undefined || [outerOf(name), `${outerOf(name)}.error`].includes(outerOf(said[0]))
  const [, type = ''] = texts.find((each) => typeWithin.test(each[0]) && isOfIt(each)) ?? []
  const line = lineOf(said?.[1] ?? type)
  if (line === '' || isSaid(line, log.message)) return undefined
  return type === '' || line.includes(type) ? line : `${type}: ${line}`
}

/** An error's type at the beginning of a line: a name with a package, or one that ends in Error or Exception. */
const typeAhead = /^((?:[\w$]+\.)+[\w$]+|[\w$]*(?:Error|Exception))(?::|$)/

/** A condition that finds records with the same type of error; undefined if the record names none. */
export function errorTypeOf(log: Log): Condition | undefined {
  const texts = textsOf(log)
  const type = texts.find(([name]) => typeWithin.test(name))
  if (type !== undefined) return { field: oneLine(type[0]), operator: '=', text: oneLine(type[1]) }
  const { type: ofBrowser, value } = log.fields
  if (typeof ofBrowser === 'string' && log.message === `${ofBrowser}: ${String(value)}`) {
    return { field: 'type', operator: '=', text: oneLine(ofBrowser) }
  }
  const stack = texts.find(([name, text]) => asStack.test(name) || (asOneText.test(name) && isOfLines(text)))
  const [, ahead] = typeAhead.exec(lineOf(stack?.[1] ?? '')) ?? []
  return stack === undefined || ahead === undefined
    ? undefined
    : { field: oneLine(stack[0]), operator: ':', text: ahead }
}
