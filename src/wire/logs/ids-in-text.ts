import { withoutColours } from '#src/events/tokens.ts'
import { newRelicIn } from './new-relic.ts'
import { spanIdOf, traceIdOf, traceparentOf } from './ids.ts'

// Where programs that write lines of text put the ids of the span in which they write: by name, as Spring Boot does (`[app,trace,span]`,
// `[trace-span]`), or as a whole `traceparent` (W3C Trace Context §3.2).

export type IdsInText = Readonly<{ traceId: string; spanId: string | undefined }>

/** Characters from the beginning of a message that are looked through. */
const headCharacters = 2_048

const anyId = /[\da-f]{16}|dd\.trace/i
const traceparent = /(?<![\w-])(00-[\da-f]{32}-[\da-f]{16}-[\da-f]{2})(?![\w-])/i
/** A short id only behind the name of a program, and with a letter: two numbers in brackets are a range. */
const bracketed =
  /\[(?:(?:[^[\],]*,)?\s*([\da-f]{32})|[^[\],]*,\s*(?=\d*[a-f])([\da-f]{16}))[,-]([\da-f]{16})\s*(?:,[^\]]*)?\]/i
/** Of AWS: a load balancer's line of a request, and what Lambda reports of a call. */
const xray = /(?<![\w-])(?:Root=|XRAY TraceId: )(1-[\da-f]{8}-[\da-f]{24})(?![\w-])/
/** Not in an address: that of a page that shows a trace names it too. */
const named = (what: string): RegExp =>
  new RegExp(
    String.raw`(?<![\w.?&/])(dd\.)?(?:otel)?${what}[._]?id["']?\s*[=:]\s*["']?((?:0x)?(?:[\da-f]{32}|[\da-f]{16})|\d{1,20})(?![\w-])`,
    'i',
  )
const namedTrace = named('trace')
const namedSpan = named('span')

/** The ids of a trace and, where it says one, of the span that a line of text says of itself; undefined where it says none. */
export function idsInText(message: string): IdsInText | undefined {
  const start = message.slice(0, headCharacters)
  // structlog and Rust's tracing have a name in one colour and its value in another.
  const head = start.includes('\u001b') ? withoutColours(start) : start
  const hasAny = anyId.test(head)
  // New Relic's stand behind the message, however long it is.
  const ofNewRelic = hasAny || message.length > headCharacters ? newRelicIn(message)?.ids : undefined
  return ofNewRelic ?? (hasAny ? idsInHead(head) : undefined)
}

function idsInHead(head: string): IdsInText | undefined {
  const [, whole] = traceparent.exec(head) ?? []
  const parent = traceparentOf(whole)
  if (parent !== undefined) return { traceId: parent.traceId, spanId: parent.spanId }
  const [, long, short, inSpan] = bracketed.exec(head) ?? []
  const ofBoth = traceIdOf(long ?? short)
  if (ofBoth !== undefined) return { traceId: ofBoth, spanId: spanIdOf(inSpan) }
  const [, ofXray] = xray.exec(head) ?? []
  const tracedByXray = traceIdOf(ofXray)
  if (tracedByXray !== undefined) return { traceId: tracedByXray, spanId: undefined }
  return idsByName(head)
}

function idsByName(head: string): IdsInText | undefined {
  const [, ofDatadog, trace] = namedTrace.exec(head) ?? []
  const traceId = traceIdOf(trace, ofDatadog !== undefined)
  if (traceId === undefined) return undefined
  const [, spanOfDatadog, span] = namedSpan.exec(head) ?? []
  return { traceId, spanId: spanIdOf(span, spanOfDatadog !== undefined) }
}
