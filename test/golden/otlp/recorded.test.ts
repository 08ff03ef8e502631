import { readFileSync, readdirSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { Span } from '#src/events/telemetry.ts'
import { parseOtlpContentType } from '#src/wire/otlp/content-type.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'

type Recorded = Readonly<{
  sender: string
  contentType: string
  contentEncoding: string | null
  /** Of each span, where it is not 257: sampled, and the parent is known not to be remote. */
  flags?: number
  body: string
}>

const folder = new URL('.', import.meta.url)
const recordings = readdirSync(folder).filter((file) => file.endsWith('.json'))
const attributesOf = ({ attributes }: Readonly<{ attributes: object }>): Record<string, unknown> => ({ ...attributes })

/**
 * Bodies (base64) that a listener was sent by programs of other languages, configured by nothing but the README's variables,
 * OTEL_SERVICE_NAME=shop and OTEL_RESOURCE_ATTRIBUTES=deployment.environment=prod. Each program made the two spans that are told here: a
 * server span with an event and a link, and in it a client span with a recorded error. To make one anew, make these spans with
 * the sender's newest release, against a listener that writes down what comes.
 */
describe('OTLP as senders of other languages write it', () => {
  for (const file of recordings) {
    const recorded = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Recorded
    it(`${file}: ${recorded.sender}`, () => {
      const sent = Buffer.from(recorded.body, 'base64')
      const body = recorded.contentEncoding === 'gzip' ? gunzipSync(sent) : sent
      const contentType = parseOtlpContentType(recorded.contentType) ?? 'application/json'
      const scan = scanSpans(body, contentType, limits)
      expect(scan.ok && [scan.value.spans, scan.value.invalid]).to.deep.equal([2, []])
      const spans = decodeSpans(body, contentType, limits)
      const [root, child] = ['POST /orders', 'SELECT orders'].map((name) => spans.find((span) => span.name === name))
      expectRoot(root as Span)
      expectChild(child as Span, root as Span)
      for (const span of spans) {
        expect(attributesOf(span.resource)).to.include({ 'service.name': 'shop', 'deployment.environment': 'prod' })
        expect(span).to.deep.include({ service: 'shop', traceState: '', flags: recorded.flags ?? 257, cuts: [] })
        expect(span.traceId).to.equal(root?.traceId).and.to.match(/^[0-9a-f]{32}$/)
      }
    })
  }

  it('are six', () => {
    expect(recordings).to.have.members([
      'collector.json',
      'go.json',
      'java.json',
      'python-json.json',
      'rust-json.json',
      'rust-protobuf.json',
    ])
  })
})

function expectRoot(root: Span): void {
  expect(root).to.deep.include({ parentSpanId: null, kind: 'server', status: { code: 'ok', message: '' } })
  const attributes = { big: 9_007_199_254_740_993n, ratio: 0.1, ok: true, tags: ['ü', '支付'] }
  expect(attributesOf(root)).to.deep.include(attributes)
  expect(root.endNs - root.startNs >= 30_000_000n && root.endNs - root.startNs < 40_000_000n).to.equal(true)
  expect(root.spanEvents.map((event) => [event.name, attributesOf(event)])).to.deep.equal([['cache miss', { key: 'k1' }]])
  expect(root.links.map((link) => [link.traceId, link.spanId, attributesOf(link)])).to.deep.equal([
    ['0102030405060708090a0b0c0d0e0f10', '0102030405060708', { why: 'batch' }],
  ])
}

function expectChild(child: Span, root: Span): void {
  expect(child).to.deep.include({
    parentSpanId: root.spanId,
    kind: 'client',
    status: { code: 'error', message: 'db down' },
    links: [],
  })
  expect(child.spanEvents.map(({ name }) => name)).to.deep.equal(['exception'])
  expect(attributesOf(child.spanEvents[0] as Span['spanEvents'][number])).to.include({
    'exception.message': 'no connection',
  })
}
