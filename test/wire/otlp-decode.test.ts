import { expect } from 'chai'
import type { Span } from '#src/events/telemetry.ts'
import { present } from '#src/lib/assert.ts'
import { type Json, stringifyJson } from '#src/lib/json.ts'
import {
  type Any,
  type Bag,
  type MadeRequest,
  type MadeSpan,
  emptySpan,
  makeTraces,
  requestOf,
} from '#test/support/otlp.ts'
import { encodings } from './decode-scanned.ts'

function meaning(value: Any): Json {
  if ('string' in value) return value.string.toWellFormed()
  if ('utf8' in value) return new TextDecoder().decode(value.utf8)
  if ('bool' in value) return value.bool
  if ('int' in value) return Number.isSafeInteger(Number(value.int)) ? Number(value.int) : value.int
  if ('double' in value) return Number.isFinite(value.double) ? value.double : String(value.double)
  if ('bytes' in value) return Buffer.from(value.bytes).toString('base64')
  if ('list' in value) return value.list.map(meaning)
  if ('map' in value) return Object.fromEntries(meanings(value.map))
  return null
}
const meanings = (bag: Bag): (readonly [string, Json])[] => bag.map(([key, value]) => [key, meaning(value)])
const entries = (attributes: Readonly<Record<string, unknown>>): unknown => Object.entries(attributes)

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']
const codes = ['unset', 'ok', 'error']

/** Everything of a decoded span that a made span says, in the form in which both can be compared. */
function facts(span: Span): unknown {
  const { resource: _resource, scope: _scope, service: _service, sessionId: _session, attributes, ...rest } = span
  return {
    ...rest,
    attributes: entries(attributes),
    spanEvents: rest.spanEvents.map((event) => ({ ...event, attributes: entries(event.attributes) })),
    links: rest.links.map((link) => ({ ...link, attributes: entries(link.attributes) })),
  }
}

function expectedFacts(span: MadeSpan): unknown {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId === '' ? null : span.parentSpanId,
    traceState: span.traceState,
    flags: span.flags,
    name: span.name,
    kind: kinds[span.kind] ?? 'unspecified',
    startNs: span.startNs,
    endNs: span.endNs,
    status: { code: codes[span.statusCode] ?? 'unset', message: span.statusMessage },
    attributes: meanings(span.attributes),
    droppedAttributesCount: span.dropped,
    spanEvents: span.events.map(({ timeNs, name, attributes, dropped }) => ({
      timeNs,
      name,
      attributes: meanings(attributes),
      droppedAttributesCount: dropped,
    })),
    droppedEventsCount: 0,
    links: span.links.map((link) => ({ ...link, attributes: meanings(link.attributes), droppedAttributesCount: 0 })),
    droppedLinksCount: 0,
    cuts: [],
  }
}

const everyValue: Bag = [
  ['text', { string: 'né \u{1f600} 支付失败 \u202e\u001b[31m\ufffe' }],
  ['long text', { string: 'x'.repeat(5_000) }],
  ['empty text', { string: '' }],
  ['true', { bool: true }],
  ['false', { bool: false }],
  ['zero', { int: 0n }],
  ['minus one', { int: -1n }],
  ['largest safe', { int: 9_007_199_254_740_991n }],
  ['beyond safe', { int: 9_007_199_254_740_993n }],
  ['below safe', { int: -9_007_199_254_740_993n }],
  ['28 bits', { int: (1n << 28n) - 1n }],
  ['29 bits', { int: 1n << 28n }],
  ['56 bits', { int: (1n << 56n) + 1n }],
  ['int64 max', { int: (1n << 63n) - 1n }],
  ['int64 min', { int: -(1n << 63n) }],
  ['double', { double: 0.1 }],
  ['NaN', { double: Number.NaN }],
  ['infinity', { double: Infinity }],
  ['minus infinity', { double: -Infinity }],
  ['bytes', { bytes: Uint8Array.of(0, 255, 254, 62, 63) }],
  ['no bytes', { bytes: new Uint8Array() }],
  ['unset', {}],
  ['list', { list: [{ string: 'a' }, { int: 2n }, {}, { list: [{ bool: true }] }] }],
  ['empty list', { list: [] }],
  [
    'map',
    {
      map: [
        ['a.b', { map: [['c', { double: 1.5 }]] }],
        ['', { string: 'unnamed' }],
      ],
    },
  ],
  ['empty map', { map: [] }],
]

const hardNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  'a.b.c',
  'ключ',
  'k'.repeat(65_536),
]

for (const { name, decode } of encodings) {
  describe(`decodeSpans ${name}`, () => {
    it('gives back what was made, every field exact', () => {
      const full: MadeSpan = {
        ...emptySpan,
        parentSpanId: '00f067aa0ba902b7',
        traceState: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
        flags: 0xffff_ffff,
        name: 'GET /é支',
        kind: 5,
        attributes: everyValue,
        dropped: 7,
        events: [
          { timeNs: 1_795_240_001_079_262_377n, name: 'exception', attributes: everyValue, dropped: 3 },
          { timeNs: 0n, name: '', attributes: [], dropped: 0 },
        ],
        links: [
          {
            traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
            spanId: '00f067aa0ba902b7',
            traceState: 'a=b',
            attributes: everyValue,
            flags: 1,
          },
        ],
        statusCode: 2,
        statusMessage: 'über',
      }
      const spans = [full, emptySpan, { ...emptySpan, kind: 99, statusCode: 99 }, { ...emptySpan, statusCode: 1 }]
      expect(decode(requestOf(spans)).map(facts)).to.deep.equal(spans.map(expectedFacts))
    })

    it('gives back realistic traces, with their services and sessions', () => {
      const { request, spans } = makeTraces({ seed: 3, traces: 10, spansPerTrace: 12 })
      const byId = new Map(decode(request).map((span) => [span.traceId + span.spanId, span]))
      expect(byId.size).to.equal(120)
      for (const span of spans) {
        const found = byId.get(span.traceId + span.spanId)
        expect(found && facts(found)).to.deep.equal(expectedFacts(span))
        expect(found?.service).to.equal(span.service)
        expect(found?.sessionId).to.match(/^s-[0-6]$/)
      }
    })

    it('keeps attributes under their very names and leaves Object.prototype alone', () => {
      const before = Object.getOwnPropertyNames(Object.prototype)
      const bag = hardNames.map((key) => [key, { string: `of ${key.slice(0, 20)}` }] as const)
      const nested: Bag = [['map', { map: [['__proto__', { map: [['polluted', { bool: true }]] }], ...bag] }], ...bag]
      const [span] = decode(requestOf([{ ...emptySpan, attributes: nested }]))
      expect(Object.keys(span?.attributes ?? {}).toSorted()).to.deep.equal(['map', ...hardNames].toSorted())
      for (const key of hardNames) expect(span?.attributes[key]).to.equal(`of ${key.slice(0, 20)}`)
      expect('valueOf' in (span?.attributes ?? {}), 'inherits no name').to.equal(false)
      expect('valueOf' in Object(span?.attributes['map']), 'inherits no name').to.equal(false)
      expect(Object.getOwnPropertyNames(Object.prototype)).to.deep.equal(before)
      expect(({} as { polluted?: boolean }).polluted).to.equal(undefined)
    })

    it('takes the last of equal attribute names', () => {
      const bag: Bag = [
        ['a', { string: 'first' }],
        ['b', { int: 1n }],
        ['a', { string: 'last' }],
      ]
      const [span] = decode(requestOf([{ ...emptySpan, attributes: bag }]))
      expect({ ...span?.attributes }).to.deep.equal({ a: 'last', b: 1 })
      expect(span?.droppedAttributesCount).to.equal(0)
    })

    it('cuts values below the deepest level, marks them, and keeps the rest', () => {
      const nest = (levels: number): Any => (levels === 1 ? { string: 'ground' } : { list: [nest(levels - 1)] })
      const nestMap = (levels: number): Any =>
        levels === 1 ? { string: 'ground' } : { map: [['in', nestMap(levels - 1)]] }
      const bag: Bag = [
        ['fits', nest(32)],
        ['deep', nest(33)],
        ['deep map', nestMap(60)],
        ['after', { int: 1n }],
      ]
      const [span, other] = decode(requestOf([{ ...emptySpan, attributes: bag }, emptySpan]))
      expect(span?.cuts).to.deep.equal(['attribute deep cut at depth 32', 'attribute deep map cut at depth 32'])
      expect(stringifyJson(span?.attributes['fits'])).to.equal(`${'['.repeat(31)}"ground"${']'.repeat(31)}`)
      expect(stringifyJson(span?.attributes['deep'])).to.equal(`${'['.repeat(32)}null${']'.repeat(32)}`)
      expect(span?.attributes['after']).to.equal(1)
      expect(other?.cuts).to.deep.equal([])
    })

    it('takes a batch whose one span is nested beyond all use, and cuts that one', () => {
      const deepList = (levels: number): Any => (levels === 0 ? {} : { list: [deepList(levels - 1)] })
      const deepMap = (levels: number): Any => (levels === 0 ? {} : { map: [['in', deepMap(levels - 1)]] })
      for (const value of [deepMap(65), deepList(83), deepMap(500), deepList(700)]) {
        const event = { timeNs: 5n, name: 'e', attributes: [['a', value]] as Bag, dropped: 0 }
        const link = { traceId: emptySpan.traceId, spanId: emptySpan.spanId, traceState: '', attributes: [['a', value]] as Bag, flags: 0 } // prettier-ignore
        const odd: Partial<MadeSpan>[] = [{ attributes: [['a', value]] }, { events: [event] }, { links: [link] }]
        const ordinary = Array.from({ length: 99 }, () => ({ ...emptySpan, attributes: [['b', { int: 1n }]] as Bag }))
        for (const given of odd) {
          const found = decode(requestOf([...ordinary, { ...emptySpan, ...given }]))
          expect(found).to.have.length(100)
          expect(found.map(({ cuts }) => cuts)).to.deep.equal([
            ...ordinary.map(() => []),
            ['attribute a cut at depth 32'],
          ])
        }
      }
    })

    it('cuts attributes, span events and links beyond their limits, counts and marks them', () => {
      const bag: Bag = Array.from({ length: 260 }, (_none, index) => [`a${index}`, { int: BigInt(index) }])
      const event = { timeNs: 1n, name: 'e', attributes: bag, dropped: 2 }
      const link = { traceId: emptySpan.traceId, spanId: emptySpan.spanId, traceState: '', attributes: [], flags: 0 }
      const crowded = { ...emptySpan, attributes: bag, dropped: 5, events: [event, event, event], links: [link, link] }
      const own = { spanEventsPerSpanMax: 2, linksPerSpanMax: 1 }
      const [span] = decode(requestOf([crowded]), own)
      expect(Object.keys(span?.attributes ?? {})).to.have.length(256)
      expect(span?.attributes['a255']).to.equal(255)
      expect(span?.droppedAttributesCount).to.equal(9)
      expect(span?.spanEvents.map((kept) => kept.droppedAttributesCount)).to.deep.equal([6, 6])
      expect([span?.droppedEventsCount, span?.links.length, span?.droppedLinksCount]).to.deep.equal([1, 1, 1])
      expect(span?.cuts).to.have.members([
        'attributes cut at 256, 4 left out',
        'span events cut at 2, 1 left out',
        'links cut at 1, 1 left out',
      ])
    })

    it('cuts times beyond what an index can hold', () => {
      const [span] = decode(requestOf([{ ...emptySpan, startNs: (1n << 64n) - 1n, endNs: 1n << 63n }]))
      expect([span?.startNs, span?.endNs]).to.deep.equal([(1n << 63n) - 1n, (1n << 63n) - 1n])
      expect(span?.cuts).to.have.members([
        'time 18446744073709551615 cut to 9223372036854775807',
        'time 9223372036854775808 cut to 9223372036854775807',
      ])
    })

    it('leaves out a parent id that is none', () => {
      const parents = ['', '00'.repeat(8), 'abcd', 'ab'.repeat(16)]
      const spans = decode(requestOf(parents.map((parentSpanId) => ({ ...emptySpan, parentSpanId }))))
      expect(spans.map((span) => span.parentSpanId)).to.deep.equal([null, null, null, null])
      expect(spans.map((span) => span.cuts.length)).to.deep.equal([0, 0, 1, 1])
    })

    it('shares resource and scope, with a hash over everything in them', () => {
      const base = present(requestOf([emptySpan, emptySpan])[0], 'a resource')
      const scope = present(base.scopes[0], 'a scope')
      const attributes: Bag = [
        ['service.name', { string: 'shop' }],
        [
          'n',
          {
            map: [
              ['a', { int: 1n }],
              ['b', { int: 2n }],
            ],
          },
        ],
      ]
      const turned: Bag = [
        [
          'n',
          {
            map: [
              ['b', { int: 2n }],
              ['a', { int: 1n }],
            ],
          },
        ],
        ['service.name', { string: 'shop' }],
      ]
      const request: MadeRequest = [
        { ...base, attributes },
        { ...base, attributes: turned },
        { ...base, attributes, schemaUrl: 'https://opentelemetry.io/schemas/1.30.0' },
        { ...base, attributes: [...attributes, ['x', { string: '' }]] },
        { ...base, attributes, scopes: [{ ...scope, version: '2' }] },
      ]
      const spans = decode(request)
      const resources = spans.map(({ resource }) => resource)
      const scopes = spans.map((span) => span.scope)
      expect([resources[0], scopes[0]]).to.deep.equal([resources[1], scopes[1]])
      expect(resources[0] === resources[1] && scopes[0] === scopes[1], 'the same objects').to.equal(true)
      const [a, b, c, d, e] = [0, 2, 4, 6, 8].map((index) => resources[index]?.hash)
      expect(a).to.match(/^[0-9a-f]{32}$/)
      expect([b, e]).to.deep.equal([a, a])
      expect(new Set([a, c, d]).size).to.equal(3)
      const [, , own, , , , , , other] = scopes.map(({ hash }) => hash)
      expect(own === scopes[0]?.hash && other !== own).to.equal(true)
      expect(resources[4]).to.deep.include({ kind: 'resource', schemaUrl: 'https://opentelemetry.io/schemas/1.30.0' })
      expect(scopes[8]).to.deep.include({ kind: 'scope', name: 'made', version: '2' })
    })

    it('names what was cut of a resource on each of its spans', () => {
      const bag: Bag = Array.from({ length: 257 }, (_none, index) => [`a${index}`, { string: 'x' }])
      const request = requestOf([emptySpan, emptySpan]).map((resource) => ({ ...resource, attributes: bag }))
      const spans = decode(request)
      expect(spans.map(({ cuts }) => cuts)).to.deep.equal([
        ['resource attributes cut at 256, 1 left out'],
        ['resource attributes cut at 256, 1 left out'],
      ])
      expect(spans[0]?.resource.droppedAttributesCount).to.equal(1)
    })

    it('names what was cut of a scope behind that', () => {
      const bag: Bag = Array.from({ length: 257 }, (_none, index) => [`a${index}`, { string: 'x' }])
      const request = requestOf([emptySpan]).map((resource) => ({
        ...resource,
        attributes: bag,
        scopes: resource.scopes.map((scope) => ({ ...scope, attributes: bag })),
      }))
      expect(decode(request)[0]?.cuts).to.deep.equal([
        'resource attributes cut at 256, 1 left out',
        'scope attributes cut at 256, 1 left out',
      ])
    })

    it('cuts the name of a service, which stands on each of its spans, and keeps the resource as it is', () => {
      const name = 's'.repeat(100_000)
      const request = requestOf([emptySpan]).map((of) => ({
        ...of,
        attributes: [['service.name', { string: name }]] satisfies Bag,
      }))
      const [span] = decode(request)
      expect(span?.service).to.equal('s'.repeat(1_024))
      expect(span?.resource.attributes['service.name']).to.equal(name)
    })
  })
}
