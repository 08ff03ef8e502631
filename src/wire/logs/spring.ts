import { withoutColours } from '#src/events/tokens.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { spanIdOf, traceIdOf } from './ids.ts'

// Lines of Spring Boot's console and file, in its default patterns for logback and log4j (CONSOLE_LOG_PATTERN, FILE_LOG_PATTERN): time, level,
// process, `---`, in brackets the application and its group, the thread and the span's ids, then the logger.

/** What stands before the message in a line of Spring Boot. */
type SpringLine = Readonly<{
  time: string
  level: string
  pid: string | undefined
  thread: string | undefined
  service: string | undefined
  logger: string
  message: string
}>

const [zero, nine, escape] = [0x30, 0x39, 0x1b]
const mark = '--- ['
/** The mark must be within this many characters from the beginning; colours and ids may stand before it. */
const markedCharacters = 256

const line = new RegExp(
  [
    String.raw`^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3}(?:Z|[+-]\d\d:\d\d)?) {1,3}`,
    // The level, then what Spring Cloud Sleuth's defaults and guides put there
    String.raw`(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) {1,3}(?:\[([^[\]]{0,256})\] {1,3})?`,
    String.raw`(?:(\d{1,10}) )? {0,3}--- ((?:\[[^[\]]{1,256}\] {0,2}){1,5})([\w.$/@:[\]-]{1,128}) {1,41}:(?: |$)`,
  ].join(''),
)

/** `[trace-span]`, or that many blanks if there is no span. */
const isOfSpan = (text: string): boolean => /^(?:[\da-f]{16,32}-[\da-f]{16}| {33}| {49})$/i.test(text)
/** On the console, the thread's name is cut or padded to this length. */
const threadCharacters = 15
const mayBeThread = (text: string): boolean => text.length === threadCharacters && !/[,=]/.test(text)

const sleuth = /^([^,]{1,128}),([\da-f]*),([\da-f]*)(?:,[^,]{0,16})?$/i
/** `shop,trace,span`, or without ids. */
function serviceOfSleuth(text: string): string | undefined {
  const [, service, trace, span] = sleuth.exec(text) ?? []
  const hasIds = traceIdOf(trace) !== undefined && spanIdOf(span) !== undefined
  return hasIds || (trace === '' && span === '') ? service?.trim() : undefined
}

/** The application and the thread among the brackets. The first bracket is the application only if the thread is certainly behind it. */
function namedIn(given: readonly string[]): Pick<SpringLine, 'service' | 'thread'> {
  const last = given.at(-1) ?? ''
  const ofSleuth = serviceOfSleuth(last)
  const names = isOfSpan(last) || ofSleuth !== undefined ? given.slice(0, -1) : given
  if (names.length === 1) return { service: ofSleuth, thread: names[0]?.trim() }
  const isSure = names.length < given.length || mayBeThread(names.at(-1) ?? '')
  if (!isSure || names.length > 3) return { service: ofSleuth, thread: undefined }
  return { service: names[0]?.trim(), thread: names.at(-1)?.trim() }
}

function isMarked(text: string): boolean {
  const code = text.charCodeAt(0)
  const mayBe = (code >= zero && code <= nine) || code === escape
  return mayBe && text.slice(0, markedCharacters).includes(mark)
}

/** A line of Spring Boot taken apart; undefined for any other line. */
export function springLineOf(given: string): SpringLine | undefined {
  const text = isMarked(given) ? withoutColours(given) : ''
  const found = text === '' ? null : line.exec(text)
  if (found === null) return undefined
  const [whole, time = '', level = '', beside = '', pid, brackets = '', logger = ''] = found
  const { service, thread } = namedIn(Array.from(brackets.matchAll(/\[([^[\]]+)\]/g), ([, each = '']) => each))
  const named = (serviceOfSleuth(beside) ?? service) || undefined
  return { time, level, pid, thread, service: named, logger, message: text.slice(whole.length) }
}

/**
 * The parts of the line as fields. Its time, which Spring Boot 2 writes without a zone, does not date the record, because the lines of a stack trace
 * after it have no time.
 */
export function fieldsOfSpringLine(line: SpringLine): JsonObject {
  const { time, level, service, pid, thread, logger, message } = line
  const said = {
    timereported: time,
    level,
    application: service,
    pid,
    thread,
    logger,
    message,
  }
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) as JsonObject
}
