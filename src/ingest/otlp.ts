import type { Context } from 'koa'
import { monthOf } from '#src/events/allowance.ts'
import type { NewEvent } from '#src/events/envelope.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { setRefusal, withRetry } from '#src/http/errors.ts'
import type { Route } from '#src/http/route.ts'
import { parseOtlpContentType, type OtlpContentType } from '#src/wire/otlp/content-type.ts'
import { encodeStatus, encodeSuccess, type OtlpReply, type PartialSuccess } from '#src/wire/otlp/reply.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'
import type { SpanScan } from '#src/wire/otlp/span-scan.ts'
import type { Grant } from './allowance.ts'
import { contentTypeOf } from './content-type.ts'
import { countRefusedSpans, setPosition, withBody, type IngestContext, type Received } from './context.ts'
import { cutSpans } from './cut-spans.ts'
import { receivedEvent, refusedBeside, refusedEvent } from './event-of.ts'
import { spanMessage } from './span-messages.ts'

const endpoint = '/api/traces/v1/otlp'

function send(ctx: Context, { contentType, body }: OtlpReply): void {
  // Not ctx.type, which would add a charset: the Collector compares the whole header.
  ctx.set('Content-Type', contentType)
  ctx.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
}

/** google.rpc.Status in the encoding of the request's content type; JSON if that is neither. */
export function refuseOtlp(ctx: Context, refused: Refusal): void {
  const timed = withRetry(ctx, refused)
  setRefusal(ctx, timed)
  send(ctx, encodeStatus(parseOtlpContentType(contentTypeOf(ctx)) ?? 'application/json', timed))
}

function unsupportedType(header: string): Refusal {
  if (header.toLowerCase().startsWith('application/grpc')) {
    const change = 'set the protocol to http/protobuf (OTEL_EXPORTER_OTLP_PROTOCOL, or otlp_http in the Collector)'
    return refusal('unsupported_media_type', `OTLP/gRPC is not supported: ${change}.`)
  }
  const known = 'application/x-protobuf or application/json, in UTF-8'
  return refusal('unsupported_media_type', `OTLP/HTTP comes as ${known}; this Content-Type is neither.`)
}

/** A partial success is stored with the event as its answer, and decoded again for a retry. */
const writeAnswer = (partial: PartialSuccess | undefined): string | undefined =>
  partial === undefined ? undefined : JSON.stringify(partial)
const readAnswer = (answer: string | undefined): PartialSuccess | undefined =>
  answer === undefined ? undefined : (JSON.parse(answer) as PartialSuccess)

function partialOf(scan: SpanScan, { receipt }: Received, grant: Grant): PartialSuccess | undefined {
  const rejectedSpans = scan.spans - grant.granted
  const [first] = scan.invalid
  const errorMessage = spanMessage({
    total: scan.spans,
    invalid: scan.invalid.length,
    firstInvalid: first === undefined ? '' : `span ${first.index}, ${first.reason}`,
    overAllowance: rejectedSpans - scan.invalid.length,
    month: monthOf(receipt.receivedAt),
    grant,
  })
  return errorMessage === '' ? undefined : { rejectedSpans, errorMessage }
}

async function eventsOf(
  scan: SpanScan,
  received: Received,
  { grant, contentType, spansMax }: Readonly<{ grant: Grant; contentType: OtlpContentType; spansMax: number }>,
): Promise<readonly NewEvent[]> {
  const answer = writeAnswer(partialOf(scan, received, grant))
  const { body, receipt } = received
  const accepted = { type: 'spans.received', counts: { spans: grant.granted }, contentType, answer } as const
  if (grant.granted === scan.spans) return [await receivedEvent(receipt, { ...accepted, payload: body.bytes }, body)]
  const { keep, refused } = cutSpans(scan, grant.granted)
  if (grant.granted === 0) return [refusedEvent(receipt, refused, { spansMax, answer })]
  const stored = await receivedEvent(receipt, { ...accepted, payload: scan.cut(keep) }, body)
  return [stored, refusedBeside(receipt, refused, { spansMax })]
}

async function store(
  ctx: Context,
  context: IngestContext,
  contentType: OtlpContentType,
  received: Received,
): Promise<Refusal | undefined> {
  const { body, receipt, credential } = received
  const scan = scanSpans(body.bytes, contentType, context.limits)
  if (!scan.ok) {
    if (scan.error.records !== undefined) await countRefusedSpans(context, receipt, scan.error.records)
    return scan.error
  }
  const recorder = context.recorderOf(credential.workspaceId)
  const { spans, invalid } = scan.value
  if (spans === 0) {
    ctx.status = 200
    send(ctx, encodeSuccess(contentType))
    return undefined
  }
  const spansMax = context.limits.refusedSpansPerEventMax
  const asked = { valid: spans - invalid.length, isPartial: invalid.length > 0 }
  const recorded = await recorder.recordSpans(receipt, asked, (grant) =>
    eventsOf(scan.value, received, { grant, contentType, spansMax }),
  )
  if (!recorded.ok) return recorded.error
  const { grant, position, repeated } = recorded.value
  if (position !== undefined) setPosition(ctx, recorder, position)
  ctx.status = 200
  const partial = repeated === undefined ? partialOf(scan.value, received, grant) : readAnswer(repeated.answer)
  send(ctx, encodeSuccess(contentType, partial))
  return undefined
}

async function ingestSpans(ctx: Context, context: IngestContext): Promise<Refusal | undefined> {
  const credential = await context.admit(ctx, 'traces')
  if (!credential.ok) return credential.error
  const contentType = parseOtlpContentType(contentTypeOf(ctx))
  if (contentType === undefined) return unsupportedType(contentTypeOf(ctx))
  const admitted = {
    credential: credential.value,
    surface: 'traces',
    encodings: ['gzip'],
    identifiedWithoutKey: true,
  } as const
  return withBody(ctx, context, admitted, (received) => store(ctx, context, contentType, received))
}

const route = { method: 'POST', auth: 'key', refuse: refuseOtlp } as const

const onlyTraces = `Only traces are taken over OTLP, at ${endpoint}`

/** An agent does not read that variable, and drops what is refused: the signal is kept by changing its own pipeline. */
const switchOff = (signal: string): string =>
  `set OTEL_${signal.toUpperCase()}_EXPORTER=none in an SDK; in an agent such as the Collector take this exporter out of its ${signal} pipeline.`

/** The paths where SDKs send their other signals, every minute unless they are told not to. */
const otherSignals = (base: string): readonly Route[] => [
  {
    ...route,
    path: `${base}/v1/metrics`,
    handler: () => refusal('not_found', `${onlyTraces}: ${switchOff('metrics')}`),
  },
  {
    ...route,
    path: `${base}/v1/logs`,
    handler: () =>
      refusal('not_found', `${onlyTraces}; for logs there is /api/logs/v1/ingest. To end this, ${switchOff('logs')}`),
  },
]

/** POST /api/traces/v1/otlp, and the paths that senders use when they append to it as a base address. */
export function createOtlpRoutes(context: IngestContext): readonly Route[] {
  const accept = (ctx: Context): Promise<Refusal | undefined> => ingestSpans(ctx, context)
  return [
    { ...route, path: endpoint, handler: accept },
    { ...route, path: `${endpoint}/v1/traces`, handler: accept },
    ...otherSignals(endpoint),
  ]
}

/**
 * The paths that senders use when they are given the server's bare address. They are answered with 404 in OTLP's error format, the only
 * one whose message senders show. Served in every role, since a proxy in front may pass these paths to any process.
 */
export function createBareAddressRoutes(): readonly Route[] {
  const setting = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (traces_endpoint in the Collector)'
  const namePath = (): Refusal => refusal('not_found', `Traces are taken at ${endpoint}: name that path in ${setting}.`)
  return [{ ...route, path: '/v1/traces', handler: namePath }, ...otherSignals('')]
}
