import { withoutColours } from '#src/events/tokens.ts'
import { newRelicIn } from './new-relic.ts'
import { spanIdOf, traceIdOf, traceparentOf } from './ids.ts'

// Finds span and trace ids in lines of text: by name, as Spring Boot writes them (`[app,trace,span]`, `[trace-span]`), or in a whole `traceparent`
// (W3C Trace Context §3.2).

export type IdsInText = Readonly<{ traceId: string; spanId: string | undefined }>

/** How many characters at the beginning of a message are searched. */
const headCharacters = 2_048

const anyId = /[\da-f]{16}|dd\.trace/i
const traceparent = /(?<![\w-])(00-[\da-f]{32}-[\da-f]{16}-[\da-f]{2})(?![\w-])/i
/** A short id only counts behind a program's name and with a letter in it: two numbers in brackets are a range. */
const bracketed =
  /\[(?:(?:[^[\],]*,)?\s*([\da-f]{32})|[^[\],]*,\s*(?=\d*[a-f])([\da-f]{16}))[,-]([\da-f]{16})\s*(?:,[^\]]*)?\]/i
/** AWS X-Ray ids: in a load balancer's access log, and in the report of a Lambda call. */
const xray = /(?<![\w-])(?:Root=|XRAY TraceId: )(1-[\da-f]{8}-[\da-f]{24})(?![\w-])/
/** Not inside an address: the address of a page that shows a trace also has its id. */
const named = (what: string): RegExp =>
  new RegExp(
    String.raw`(?<![\w.?&/])(dd\.)?(?:otel)?${what}[._]?id["']?\s*[=:]\s*["']?((?:0x)?(?:[\da-f]{32}|[\da-f]{16})|\d{1,20})(?![\w-])`,
    'i',
  )
const namedTrace = named('trace')
const namedSpan = named('span')

/** The ids of the trace, and of the span if there is one, that a line of text gives for itself; undefined if it gives none. */
export function idsInText(message: string): IdsInText | undefined {
  const start = message.slice(0, headCharacters)
  // structlog and Rust's tracing print a name in one colour and its value in another.
  const head = start.includes('\u001b') ? withoutColours(start) : start
  const hasAny = anyId.test(head)
  // New Relic's ids stand behind the message, however long it is.
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
