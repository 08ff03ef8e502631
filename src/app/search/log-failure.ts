import { dottedFields } from './field-table.ts'

// The names under which loggers put an error beside their message: pino and bunyan (`err.message`), ECS, winston and Datadog
// (`error.message`, `error.kind`), OpenTelemetry (`exception.type`), Monolog (`context.exception.class`), loguru (`record.exception.value`),
// log4j (`thrown.name`); as one text Go's loggers and Rust's (`error`, `err`), structlog, .NET and NLog (`exception`), Python's JSON
// formatters (`exc_info`), logback (`stack_trace`), Serilog (`@x`).

const saidWithin = /(?:^|\.)(?:err|error|exception|thrown)\.(?:message|msg|value)$/i
const typeWithin = /(?:^|\.)(?:err|error|exception|thrown)\.(?:type|name|kind|class)$/i
const asOneText = /(?:^|\.)(?:err|error|exception)$/i
const asStack = /(?:^|\.)(?:exc_info|exc_text|stack|stacktrace|stack_trace|@x)$/i

type Named = readonly [name: string, text: string]

/** Without the last part of a name. */
const outerOf = (name: string): string => name.replace(/\.?[^.]*$/, '')

/** What a text of several lines says in one: Python's stack traces end with it, all others begin with it. */
function lineOf(text: string): string {
  const lines = text.split(/[\r\n]+/).filter((line) => line.trim() !== '')
  return ((text.includes('Traceback (most recent call last)') ? lines.at(-1) : lines[0]) ?? '').trim()
}

/** Whether the message has said it; a stack trace says it behind the error's type. */
const isSaid = (line: string, message: string): boolean =>
  message.includes(line) ||
  (line.endsWith(`: ${message}`) && /^\S+: /.test(line.slice(0, line.length - message.length)))

/** Why, in the record's own words; undefined where it has none, or its message says the same. */
export function logFailureOf(message: string, fields: Readonly<Record<string, unknown>>): string | undefined {
  const texts = dottedFields(fields).flatMap(({ name, value }): readonly Named[] =>
    typeof value === 'string' && /\S/.test(value) ? [[name, value]] : [],
  )
  const find = (names: RegExp): Named | undefined => texts.find(([name]) => names.test(name))
  const said = find(saidWithin) ?? find(asOneText) ?? find(asStack)
  const isOfIt = ([name]: Named): boolean => said === undefined || outerOf(name) === outerOf(said[0])
  const [, type = ''] = texts.find((each) => typeWithin.test(each[0]) && isOfIt(each)) ?? []
  const line = lineOf(said?.[1] ?? type)
  if (line === '' || isSaid(line, message)) return undefined
  return type === '' || line.includes(type) ? line : `${type}: ${line}`
}
