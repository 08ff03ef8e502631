import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { OtlpContentType } from '#src/wire/otlp/content-type.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'
import { type MadeSpan, emptySpan, encodeJson, encodeProtobuf, requestOf } from '#test/support/otlp.ts'
import { randomNumbers } from '#test/support/random.ts'

const seed = 20_261_121
const mutationsEach = 3_000

const link = { traceId: emptySpan.traceId, spanId: emptySpan.spanId, traceState: 'a=b', attributes: [], flags: 1 }
const rich: MadeSpan = {
  ...emptySpan,
  parentSpanId: '00f067aa0ba902b7',
  attributes: [
    ['text', { string: 'né 支付' }],
    ['int', { int: 9_007_199_254_740_993n }],
    ['double', { double: 0.1 }],
    ['list', { list: [{ string: 'a' }, { bool: true }, {}] }],
    ['map', { map: [['__proto__', { map: [['x', { bytes: Uint8Array.of(1, 2) }]] }]] }],
  ],
  events: [{ timeNs: 5n, name: 'e', attributes: [['k', { string: 'v' }]], dropped: 1 }],
  links: [link],
  statusCode: 2,
  statusMessage: 'no',
}
const request = [
  ...requestOf([rich, { ...emptySpan, spanId: '0102030405060708' }], 'a'),
  ...requestOf([{ ...emptySpan, traceId: 'd269b633813fc60c' }], 'b'),
]

/** Bytes that tend to hurt: lengths, tags, ends of varints, brackets, quotes, escapes. */
const nasty = [
  0x00, 0x01, 0x02, 0x07, 0x08, 0x0a, 0x12, 0x4a, 0x7f, 0x80, 0xff, 0x22, 0x5b, 0x5d, 0x7b, 0x7d, 0x2c, 0x5c,
]

function mutate(body: Uint8Array, random: () => number): Uint8Array {
  const below = (max: number): number => Math.floor(random() * max)
  let bytes = Buffer.from(body)
  for (let edits = 1 + below(3); edits > 0; edits--) {
    const at = below(bytes.length)
    const length = below(12)
    const part = bytes.subarray(at, at + length)
    const edit = [
      () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]),
      () => Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]),
      () => Buffer.concat([bytes.subarray(0, at), Buffer.from([nasty[below(nasty.length)] ?? 0]), bytes.subarray(at)]),
      () => bytes.subarray(0, at),
      () => bytes.fill(nasty[below(nasty.length)] ?? 0, at, at + 1),
      () => bytes.fill((bytes[at] ?? 0) ^ (1 << below(8)), at, at + 1),
    ][below(6)]
    bytes = Buffer.from(edit?.() ?? bytes)
    if (bytes.length === 0) break
  }
  return new Uint8Array(bytes)
}

/** What must hold of any body. Returns true when the scanner took it. */
function check(body: Uint8Array, contentType: OtlpContentType, random: () => number): boolean {
  const scan = scanSpans(body, contentType, limits)
  if (!scan.ok) {
    expect(scan.error.code).to.be.oneOf(['invalid_body', 'payload_too_large'])
    return false
  }
  const { value } = scan
  const indexes = Array.from({ length: value.spans }, (_none, index) => index)
  const valid = indexes.filter((index) => value.valid(index))
  expect(value.invalid.length).to.equal(value.spans - valid.length)
  const spans = decodeSpans(body, contentType, limits)
  const ids = ({ traceId, spanId }: Readonly<{ traceId: string; spanId: string }>): string => `${traceId} ${spanId}`
  expect(spans.map(ids)).to.deep.equal(valid.map((index) => ids(value.identify(index))))

  const kept = new Set(valid.filter(() => random() < 0.6))
  const cut = scanSpans(
    value.cut((index) => kept.has(index)),
    contentType,
    limits,
  )
  expect(cut.ok && [cut.value.spans, cut.value.invalid.length]).to.deep.equal([kept.size, 0])
  const keptSpans = decodeSpans(
    value.cut((index) => kept.has(index)),
    contentType,
    limits,
  )
  expect(keptSpans).to.deep.equal(spans.filter((_span, index) => kept.has(valid[index] ?? -1)))
  return true
}

describe('OTLP bodies, mutated', () => {
  const bodies: readonly (readonly [string, OtlpContentType, Uint8Array])[] = [
    ['protobuf', 'application/x-protobuf', encodeProtobuf(request)],
    ['protobuf in reverse field order', 'application/x-protobuf', encodeProtobuf(request, 'reversed')],
    ['JSON', 'application/json', new TextEncoder().encode(encodeJson(request))],
  ]
  for (const [name, contentType, body] of bodies) {
    it(`${name}: the scan never throws; what it takes decodes to its valid spans, and is cut exactly`, () => {
      const before = Object.getOwnPropertyNames(Object.prototype)
      const random = randomNumbers(seed)
      let taken = 0
      for (let index = 0; index < mutationsEach; index++) {
        const mutated = mutate(body, random)
        try {
          if (check(mutated, contentType, random)) taken++
        } catch (error) {
          throw new Error(`mutation ${index}: ${Buffer.from(mutated).toString('base64')}`, { cause: error })
        }
      }
      // Both ways must have been tried, or the test says nothing.
      expect(taken).to.be.within(mutationsEach / 50, mutationsEach - mutationsEach / 50)
      expect(Object.getOwnPropertyNames(Object.prototype)).to.deep.equal(before)
    })
  }
})
