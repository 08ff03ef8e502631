import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { limits as defaults } from '#src/config.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { decodeRum, type DecodedRum } from '#src/wire/rum/decode.ts'
import { scanRum } from '#src/wire/rum/scan.ts'

const receivedAt = 1_795_240_001_079
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

function decode(body: string, limits = {}): DecodedRum {
  const scanned = scanRum(Buffer.from(body), 'application/json', defaults)
  if (!scanned.ok) throw new Error(scanned.error.detail)
  const decoded = decodeRum(scanned.value.cut({}), 'application/json', {
    receivedAt,
    limits: { ...defaults, ...limits },
  })
  const { counts } = scanned.value
  expect(decoded.logs).to.have.lengthOf(counts.logs + counts.exceptions)
  expect(decoded.rumEvents).to.have.lengthOf(counts.events + counts.measurements)
  expect(decoded.spans).to.have.lengthOf(counts.spans)
  return decoded
}

const ns = (iso: string): bigint => BigInt(Date.parse(iso)) * 1_000_000n

describe('the decoding of RUM bodies', () => {
  describe('Faro', () => {
    const body = readFileSync(new URL('../../golden/rum/faro-web-sdk.json', import.meta.url), 'utf8')
    const { logs, rumEvents, spans } = decode(body)
    const { meta, ...parts } = JSON.parse(body) as Record<
      'meta' | 'logs' | 'exceptions' | 'events' | 'measurements',
      never
    >
    const { sdk: _sdk, ...shared } = meta as Record<string, unknown>

    it('makes log records of source rum of logs and exceptions, and of nothing else', () => {
      expect(logs.map(({ ordinal, level, message, source }) => [ordinal, level, message, source])).to.deep.equal([
        [0, 'warn', 'cart updated', 'rum'],
        [1, 'info', 'plain', 'rum'],
        [2, 'error', 'TypeError: x is undefined', 'rum'],
      ])
      expect(logs[0]).to.deep.include({ timeNs: ns('2026-11-21T07:57:00.123Z'), traceId, spanId, cuts: [] })
      expect(logs[1]).to.deep.include({ traceId: null, spanId: null })
      for (const log of logs) expect(log).to.include({ service: 'shop-web', sessionId: 'hGzPoN7uIk' })
    })

    it('has the level that a log names, whatever its text begins with', () => {
      const [log] = decode('{"logs":[{"message":"ERROR: x"}],"meta":{}}').logs
      expect(log).to.include({ message: 'ERROR: x', level: null })
    })

    it('keeps the items whole, and beside them what the body says of the page', () => {
      expect(logs[0]?.fields).to.deep.equal({ ...shared, ...(parts.logs[0] as object) })
      expect(logs[2]?.fields).to.deep.equal({ ...shared, ...(parts.exceptions[0] as object) })
      expect(rumEvents[1]?.fields).to.deep.equal({ ...shared, ...(parts.events[1] as object) })
      expect(rumEvents[2]?.fields).to.deep.equal({ ...shared, ...(parts.measurements[0] as object) })
      expect(stringifyJson(logs[2]?.fields))
        .to.contain('"function":"checkout"')
        .and.to.contain('https://shop.example/cart')
    })

    it('makes RUM events of events and measurements', () => {
      const common = { service: 'shop-web', sessionId: 'hGzPoN7uIk', url: 'https://shop.example/cart?step=2' }
      const shown = rumEvents.map(({ fields: _fields, ...event }) => event)
      expect(shown).to.deep.equal([
        {
          ordinal: 3,
          timeNs: ns('2026-11-21T07:57:02Z'),
          type: 'event',
          name: 'session_start',
          traceId: null,
          spanId: null,
          ...common,
        },
        { ordinal: 4, timeNs: ns('2026-11-21T07:57:02.5Z'), type: 'event', name: 'click', traceId, spanId, ...common },
        {
          ordinal: 5,
          timeNs: ns('2026-11-21T07:57:03Z'),
          type: 'measurement',
          name: 'web-vitals',
          traceId: null,
          spanId: null,
          ...common,
        },
      ])
    })

    it('decodes the spans, whose session is their own or that of the page', () => {
      expect(spans.map((span) => [span.spanId, span.name, span.service, span.sessionId])).to.deep.equal([
        [spanId, 'HTTP GET', 'shop-web', 'own'],
        ['00f067aa0ba902b8', 'HTTP POST', 'shop-web', 'hGzPoN7uIk'],
      ])
      expect(spans[0]?.startNs).to.equal(1_795_247_820_123_456_789n)
    })

    it('numbers items by their place in the body, whatever their kind', () => {
      const ordinals = [...logs, ...rumEvents].map(({ ordinal }) => ordinal)
      expect(ordinals).to.deep.equal([0, 1, 2, 3, 4, 5])
      expect(decode(body)).to.deep.equal({ logs, rumEvents, spans })
    })

    it('believes an item over the page', () => {
      const { logs: own } = decode('{"meta":{"user":{"id":"u"},"view":"a"},"logs":[{"message":"x","user":"mine"}]}')
      expect(own[0]?.fields).to.deep.equal({ message: 'x', user: 'mine', view: 'a' })
    })

    it('takes a body without meta, and items without times', () => {
      const { logs: bare, rumEvents: events } = decode(
        '{"logs":[{"message":"a"}],"events":[{"name":"x"}],"exceptions":[{}]}',
      )
      expect(bare[0]).to.deep.include({
        timeNs: BigInt(receivedAt) * 1_000_000n,
        level: null,
        service: null,
        sessionId: null,
      })
      expect(bare[1]).to.deep.include({ level: 'error', message: '' })
      expect(events[0]).to.include({ url: null, timeNs: BigInt(receivedAt) * 1_000_000n })
    })

    it('takes meta of other shapes, and names of every kind', () => {
      const odd =
        '{"meta":[],"logs":[{"message":"a","trace":"x","__proto__":{"polluted":1}}],"__proto__":{"x":1},"events":[{"name":{"a":1}}]}'
      const found = decode(odd)
      expect(Object.hasOwn(found.logs[0]?.fields ?? {}, '__proto__')).to.equal(true)
      expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined)
      expect(found.rumEvents[0]?.name).to.equal('')
      expect(decode('{"meta":{"session":{"id":7},"app":"x","page":{"url":""}},"events":[{"name":"n"}]}').rumEvents[0]) // prettier-ignore
        .to.include({ sessionId: '7', service: null, url: null })
      const plain = decode('{"__proto__":{"session_id":"s","service":"x"},"events":[{"type":"click"}]}')
      expect(plain.rumEvents[0]).to.include({ type: 'click', sessionId: null, service: null })
    })
    it('takes sessions as long as the limit says', () => {
      const limits = { sessionIdCharactersMax: 3 }
      const sessionOf = (body: string) => decode(body, limits).rumEvents[0]?.sessionId
      const faro = (id: string) => `{"meta":{"session":{"id":"${id}"}},"events":[{"name":"n"}]}`
      expect(['abc', 'abcd'].map(faro).map(sessionOf)).to.deep.equal(['abc', null])
      const plain = (id: string) => `{"session_id":"${id}","events":[{"type":"click"}]}`
      expect(['abc', 'abcd'].map(plain).map(sessionOf)).to.deep.equal(['abc', null])
    })

    it('has the other spans of a body, and its other parts, beside one that is nested beyond all use', () => {
      for (const levels of [83, 3_000]) {
        const deep = `${'{"arrayValue":{"values":['.repeat(levels)}{"intValue":9007199254740993}${']}}'.repeat(levels)}`
        const attributes = [{ key: 'a', value: 'deep' }]
        const list = [
          { traceId, spanId },
          { traceId, spanId: '00f067aa0ba902b8', attributes },
          { traceId, spanId: 'zz' },
        ]
        const traces = { resourceSpans: [{ scopeSpans: [{ spans: list }] }] }
        const withDeep = (value: object): string => JSON.stringify(value).replace('"deep"', deep)
        for (const form of [{ meta: {}, logs: [{ message: 'm' }, 5], traces }, traces]) {
          const found = decode(withDeep(form))
          expect(found.logs).to.have.lengthOf('logs' in form ? 1 : 0)
          expect(found.spans.map(({ cuts }) => cuts.filter((cut) => cut.includes('depth')))).to.deep.equal([
            [],
            ['attribute a cut at depth 32'],
          ])
        }
      }
    })

    it('cuts and mends what cannot be stored', () => {
      const { logs: cut, rumEvents: events } = decode(
        `{"meta":{},"logs":[{"message":"a\\ud800"}],"exceptions":[{"type":"E","value":"${'x'.repeat(9_000)}"}],"events":[{"name":"\\udc00"}]}`,
        { recordBytesMax: 2_000 },
      )
      expect(cut[0]?.message).to.equal('a\ufffd')
      expect(cut[1]?.message).to.match(/^E: x+…\[cut \d+ bytes\]$/)
      expect(cut[1]?.cuts).to.have.lengthOf(1)
      expect(events[0]?.name).to.equal('\ufffd')
      const long = decode(`{"meta":{},"events":[{"name":"${'n'.repeat(9_000)}"}]}`).rumEvents[0]
      expect([long?.name, long?.fields['name']]).to.deep.equal(['n'.repeat(1_024), 'n'.repeat(9_000)])
    })
  })

  describe('OTLP JSON', () => {
    it('has spans only', () => {
      const found = decode(
        `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${traceId.toUpperCase()}","spanId":"${spanId}","name":"x"}]}]}]}`,
      )
      expect([found.spans.length, found.logs.length, found.rumEvents.length]).to.deep.equal([1, 0, 0])
      expect(found.spans[0]).to.include({ traceId, spanId, service: 'unknown_service', sessionId: null })
    })
  })

  describe('the plain form', () => {
    it('has an event for each, with what stands beside them', () => {
      const { rumEvents } = decode(
        stringifyJson({
          session_id: 's-1',
          service: 'shop',
          url: 'https://a/',
          events: [
            { type: 'page_view', timestamp: 1_795_247_820_123, url: 'https://b/', n: 9_007_199_254_740_993n },
            {
              type: 'click',
              name: 'buy',
              ts: 1_795_247_820,
              trace_id: traceId,
              span_id: spanId,
              session_id: 's-2',
              service: 'other',
            },
            { event: 'custom' },
          ],
        }),
      )
      const shown = rumEvents.map(({ fields: _fields, ...event }) => event)
      expect(shown).to.deep.equal([
        {
          ordinal: 0,
          timeNs: 1_795_247_820_123_000_000n,
          type: 'page_view',
          name: 'page_view',
          service: 'shop',
          sessionId: 's-1',
          traceId: null,
          spanId: null,
          url: 'https://b/',
        },
        {
          ordinal: 1,
          timeNs: 1_795_247_820_000_000_000n,
          type: 'click',
          name: 'buy',
          service: 'other',
          sessionId: 's-2',
          traceId,
          spanId,
          url: 'https://a/',
        },
        {
          ordinal: 2,
          timeNs: BigInt(receivedAt) * 1_000_000n,
          type: 'event',
          name: 'custom',
          service: 'shop',
          sessionId: 's-1',
          traceId: null,
          spanId: null,
          url: 'https://a/',
        },
      ])
      expect(rumEvents[0]?.fields['n']).to.equal(9_007_199_254_740_993n)
    })

    it('is of its arrival where it says only since when the page was open', () => {
      const events = [{ type: 'click', timestamp: 1_234.5 }, { type: 'click' }]
      const [first, second] = decode(stringifyJson({ session_id: 's-1', events })).rumEvents
      expect(first?.timeNs).to.equal(second?.timeNs)
    })

    it('joins by a traceparent beside the events', () => {
      const { rumEvents } = decode(
        `{"session_id":"s","traceparent":"00-${traceId}-${spanId}-01","events":[{"type":"x"}]}`,
      )
      expect(rumEvents[0]).to.include({ traceId, spanId, sessionId: 's' })
    })

    it('joins an event that names another trace to no span of that one', () => {
      const other = '0af7651916cd43dd8448eb211c80319c'
      const { rumEvents } = decode(
        `{"traceparent":"00-${traceId}-${spanId}-01","events":[{"type":"x","trace_id":"${other}"}]}`,
      )
      expect(rumEvents[0]).to.include({ traceId: other, spanId: null })
    })
  })
})
