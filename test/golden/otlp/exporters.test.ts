import { once } from 'node:events'
import { type IncomingHttpHeaders, type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SpanKind, SpanStatusCode, TraceFlags, context, diag, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { Span } from '#src/events/telemetry.ts'
import { type OtlpContentType, parseOtlpContentType } from '#src/wire/otlp/content-type.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { type OtlpReply, encodeStatus, encodeSuccess } from '#src/wire/otlp/reply.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'

type Answer = Readonly<{ status: number; reply: (type: OtlpContentType) => OtlpReply }>
type Received = Readonly<{ headers: IncomingHttpHeaders; type: OtlpContentType; body: Buffer }>

const fullSuccess: Answer = { status: 200, reply: (type) => encodeSuccess(type) }

/** A receiver that keeps what it gets and gives the answer that is set. */
function createReceiver(): Readonly<{ server: Server; received: Received[]; answer: { next: Answer } }> {
  const received: Received[] = []
  const answer = { next: fullSuccess }
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const type = parseOtlpContentType(request.headers['content-type']) ?? 'application/json'
      received.push({ headers: request.headers, type, body: Buffer.concat(chunks) })
      const { contentType, body } = answer.next.reply(type)
      response.writeHead(answer.next.status, { 'Content-Type': contentType }).end(body)
    })
  })
  return { server, received, answer }
}

/** Makes spans as an application does; returns them as the SDK recorded them. */
async function sendSpans(exporter: SpanExporter): Promise<readonly ReadableSpan[]> {
  const memory = new InMemorySpanExporter()
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop', 'service.instance.id': 'né-1', 'host.cores': 8 }),
    spanProcessors: [new BatchSpanProcessor({ exporter }), new SimpleSpanProcessor({ exporter: memory })],
  })
  const tracer = provider.getTracer('checkout', '0.9.0', { schemaUrl: 'https://opentelemetry.io/schemas/1.30.0' })
  const remote = {
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    traceFlags: TraceFlags.SAMPLED,
  }
  const root = tracer.startSpan('POST /orders', {
    kind: SpanKind.SERVER,
    startTime: [1_795_240_001, 79_262_377],
    attributes: { 'session.id': 's-1', order: 9_007_199_254_740_991, ratio: 0.1, free: false, below: -1, nothing: '' },
    links: [{ context: remote, attributes: { why: 'retry' } }],
  })
  root.setAttribute('tags', ['a', 'ü', '支付'])
  root.addEvent('paid', { amount: 12.5 }, [1_795_240_001, 79_262_999])
  const inside = trace.setSpan(context.active(), root)
  const child = provider.getTracer('db').startSpan('SELECT', { kind: SpanKind.CLIENT }, inside)
  child.recordException(new Error('no connection'))
  child.setStatus({ code: SpanStatusCode.ERROR, message: 'failed' })
  child.end()
  root.setStatus({ code: SpanStatusCode.OK })
  root.end([1_795_240_002, 1])
  await provider.forceFlush()
  const spans = [...memory.getFinishedSpans()]
  await provider.shutdown()
  return spans
}

const nanoseconds = ([seconds, rest]: readonly [number, number]): bigint =>
  BigInt(seconds) * 1_000_000_000n + BigInt(rest)
const kinds = ['internal', 'server', 'client', 'producer', 'consumer']
const statuses = ['unset', 'ok', 'error']
const entries = (of: object): unknown => Object.entries(of)

const asMade = (span: ReadableSpan): unknown => ({
  traceId: span.spanContext().traceId,
  spanId: span.spanContext().spanId,
  parentSpanId: span.parentSpanContext?.spanId ?? null,
  name: span.name,
  kind: kinds[span.kind],
  startNs: nanoseconds(span.startTime),
  endNs: nanoseconds(span.endTime),
  status: { code: statuses[span.status.code], message: span.status.message ?? '' },
  attributes: entries(span.attributes),
  events: span.events.map(({ name, time, attributes }) => [name, nanoseconds(time), entries(attributes ?? {})]),
  links: span.links.map(({ context, attributes }) => [context.traceId, context.spanId, entries(attributes ?? {})]),
  resource: entries(span.resource.attributes),
  scope: [span.instrumentationScope.name, span.instrumentationScope.version ?? ''],
  sampled: span.spanContext().traceFlags,
})

const asDecoded = (span: Span): unknown => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  name: span.name,
  kind: span.kind,
  startNs: span.startNs,
  endNs: span.endNs,
  status: span.status,
  attributes: entries(span.attributes),
  events: span.spanEvents.map(({ name, timeNs, attributes }) => [name, timeNs, entries(attributes)]),
  links: span.links.map(({ traceId, spanId, attributes }) => [traceId, spanId, entries(attributes)]),
  resource: entries(span.resource.attributes),
  scope: [span.scope.name, span.scope.version],
  sampled: span.flags & 1,
})

const bySpanId = (a: { spanId: string }, b: { spanId: string }): number => (a.spanId < b.spanId ? -1 : 1)

const exporters: readonly (readonly [string, OtlpContentType, (url: string) => SpanExporter])[] = [
  ['protobuf', 'application/x-protobuf', (url) => new ProtobufExporter({ url })],
  ['JSON', 'application/json', (url) => new JsonExporter({ url })],
]

for (const [name, contentType, createExporter] of exporters) {
  describe(`the OpenTelemetry JS exporter, ${name}`, () => {
    const { server, received, answer } = createReceiver()
    const said: string[] = []
    let url = ''
    const say = (...words: readonly unknown[]): void => void said.push(words.join(' '))

    before(async () => {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      diag.setLogger({ error: say, warn: say, info: () => {}, debug: () => {}, verbose: () => {} })
    })

    after(async () => {
      diag.disable()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    })

    beforeEach(() => {
      received.length = 0
      said.length = 0
    })

    it('is decoded to exactly the spans that the SDK recorded', async () => {
      answer.next = fullSuccess
      const made = await sendSpans(createExporter(url))
      expect(received.map(({ type }) => type)).to.deep.equal([contentType])
      const body = received[0]?.body ?? Buffer.of()
      const scan = scanSpans(body, contentType, limits)
      expect(scan.ok && [scan.value.spans, scan.value.invalid]).to.deep.equal([2, []])
      const spans = decodeSpans(body, contentType, limits).toSorted(bySpanId)
      const expected = made.toSorted((a, b) => bySpanId(a.spanContext(), b.spanContext()))
      expect(spans.map(asDecoded)).to.deep.equal(expected.map(asMade))
      expect(spans.map(({ service }) => service)).to.deep.equal(['shop', 'shop'])
      expect(spans.map(({ cuts }) => cuts)).to.deep.equal([[], []])
    })

    it('understands full success', async () => {
      answer.next = fullSuccess
      await sendSpans(createExporter(url))
      expect(said).to.deep.equal([])
    })

    it('understands partial success, and shows it', async () => {
      const partial = { rejectedSpans: 3, errorMessage: 'the allowance of this month is used up' }
      answer.next = { status: 200, reply: (type) => encodeSuccess(type, partial) }
      await sendSpans(createExporter(url))
      expect(said).to.have.length(1)
      expect(said[0]).to.match(/Partial Success.*"rejectedSpans":"?3"?.*the allowance of this month is used up/)
    })

    it('understands a warning', async () => {
      answer.next = {
        status: 200,
        reply: (type) => encodeSuccess(type, { rejectedSpans: 0, errorMessage: '80 % used' }),
      }
      await sendSpans(createExporter(url))
      expect(said.join()).to.contain('80 % used')
      expect(said.join()).not.to.contain('could not deserialize')
    })

    it('takes a refusal for final', async () => {
      answer.next = {
        status: 400,
        reply: (type) => encodeStatus(type, { code: 'invalid_body', detail: 'not a request' }),
      }
      await sendSpans(createExporter(url)).catch(() => [])
      expect(received).to.have.length(1)
    })
  })
}
