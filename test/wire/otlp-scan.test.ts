import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { OtlpContentType } from '#src/wire/otlp/content-type.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'
import type { SpanScan } from '#src/wire/otlp/span-scan.ts'
import {
  type MadeRequest,
  type MadeSpan,
  bytesField,
  emptySpan,
  encodeJson,
  encodeProtobuf,
  encodeSpan,
  makeTraces,
  message,
  requestOf,
  spanJson,
  textField,
  varintField,
  utf8,
} from '#test/support/otlp.ts'
import { randomNumbers } from '#test/support/random.ts'

const encodings: readonly Readonly<{ contentType: OtlpContentType; encode: (request: MadeRequest) => Uint8Array }>[] = [
  { contentType: 'application/x-protobuf', encode: (request) => encodeProtobuf(request) },
  { contentType: 'application/json', encode: (request) => utf8(encodeJson(request)) },
]

function scanned(
  body: Uint8Array,
  contentType: OtlpContentType,
  own: Partial<Record<keyof typeof limits, number>> = {},
): SpanScan {
  const scan = scanSpans(body, contentType, { ...limits, ...own })
  if (!scan.ok) throw new Error(scan.error.detail)
  return scan.value
}

function refused(body: Uint8Array, contentType: OtlpContentType, own: Partial<Record<keyof typeof limits, number>>) {
  const scan = scanSpans(body, contentType, { ...limits, ...own })
  return scan.ok ? undefined : scan.error
}

const attribute = (index: number): readonly [string, { string: string }] => [`a${index}`, { string: 'x' }]

for (const { contentType, encode } of encodings) {
  describe(`scanSpans ${contentType}`, () => {
    const traces = makeTraces({ seed: 7, traces: 12, spansPerTrace: 9 })
    const inOrder = traces.request.flatMap(({ scopes }) => scopes.flatMap(({ spans }) => spans))
    const body = encode(traces.request)

    it('counts the spans and tells their ids, in request order', () => {
      const scan = scanned(body, contentType)
      expect(scan.spans).to.equal(108)
      expect(scan.invalid).to.deep.equal([])
      expect(inOrder.map((_span, index) => scan.identify(index))).to.deep.equal(
        inOrder.map(({ traceId, spanId }) => ({ traceId, spanId })),
      )
      expect(inOrder.every((_span, index) => scan.valid(index))).to.equal(true)
    })

    it('takes a Buffer that is a part of a larger one', () => {
      const padded = Buffer.concat([Buffer.from([1, 2, 3]), body, Buffer.from([4])])
      const part = padded.subarray(3, 3 + body.length)
      expect(scanned(part, contentType).identify(5)).to.deep.equal(scanned(body, contentType).identify(5))
      expect(decodeSpans(part, contentType, limits)).to.deep.equal(decodeSpans(body, contentType, limits))
    })

    it('takes a request without spans', () => {
      for (const empty of [new Uint8Array(), encode([]), encode(requestOf([]))]) {
        const scan = scanned(empty, contentType)
        expect(scan.spans).to.equal(0)
        expect(decodeSpans(empty, contentType, limits)).to.deep.equal([])
        expect(
          decodeSpans(
            scan.cut(() => true),
            contentType,
            limits,
          ),
        ).to.deep.equal([])
      }
    })

    it('finds each span whose ids are none, and says why', () => {
      const faulty: readonly (readonly [Partial<MadeSpan>, string])[] = [
        [{ traceId: '' }, 'trace_id is missing'],
        [{ traceId: '00'.repeat(16) }, 'trace_id is all zero'],
        [{ traceId: '00'.repeat(8) }, 'trace_id is all zero'],
        [{ traceId: 'ab'.repeat(15) }, 'trace_id is not 16 bytes'],
        [{ traceId: 'ab'.repeat(17) }, 'trace_id is not 16 bytes'],
        [{ spanId: '' }, 'span_id is missing'],
        [{ spanId: '00'.repeat(8) }, 'span_id is all zero'],
        [{ spanId: 'cd'.repeat(7) }, 'span_id is not 8 bytes'],
        [{ spanId: 'cd'.repeat(16) }, 'span_id is not 8 bytes'],
      ]
      const spans = faulty.flatMap(([fault]) => [{ ...emptySpan, ...fault }, emptySpan])
      const odd = encode(requestOf(spans))
      const scan = scanned(odd, contentType)
      expect(scan.invalid.map(({ index, reason }) => [index, reason])).to.deep.equal(
        faulty.map(([, reason], index) => [index * 2, reason]),
      )
      expect(scan.invalid[3]).to.deep.include({ traceId: 'ab'.repeat(15), spanId: emptySpan.spanId })
      expect(scan.invalid[0]).to.deep.include({ traceId: '', spanId: emptySpan.spanId })
      expect(spans.map((_span, index) => scan.valid(index))).to.deep.equal(spans.map((_span, index) => index % 2 === 1))
      expect(decodeSpans(odd, contentType, limits)).to.have.length(faulty.length)
    })

    it('pads a 64-bit trace id on the left, in the scan as in the span', () => {
      const short = encode(requestOf([{ ...emptySpan, traceId: 'd269b633813fc60c' }]))
      const scan = scanned(short, contentType)
      const [span] = decodeSpans(short, contentType, limits)
      expect(scan.identify(0).traceId).to.equal('0000000000000000d269b633813fc60c')
      expect(span?.traceId).to.equal('0000000000000000d269b633813fc60c')
      expect(scan.invalid).to.deep.equal([])
    })

    it('cuts to exactly the spans kept, under their own resource and scope', () => {
      const all = decodeSpans(body, contentType, limits)
      const scan = scanned(body, contentType)
      const random = randomNumbers(99)
      const choices: ((index: number) => boolean)[] = [
        () => true,
        () => false,
        (index) => index === 0,
        (index) => index === 107,
        (index) => index < 36,
        ...Array.from({ length: 20 }, () => {
          const kept = new Set(inOrder.flatMap((_span, index) => (random() < 0.4 ? [index] : [])))
          return (index: number): boolean => kept.has(index)
        }),
      ]
      for (const keep of choices) {
        const cut = scan.cut(keep)
        const again = scanned(cut, contentType)
        expect(again.spans).to.equal(inOrder.filter((_span, index) => keep(index)).length)
        expect(decodeSpans(cut, contentType, limits)).to.deep.equal(all.filter((_span, index) => keep(index)))
      }
    })

    it('keeps every byte when every span is kept', () => {
      const cut = scanned(body, contentType).cut(() => true)
      expect(Buffer.from(cut).equals(body)).to.equal(true)
    })

    it('refuses too many spans', () => {
      const over = refused(body, contentType, { recordsPerBatchMax: 107 })
      expect(over).to.deep.include({ code: 'payload_too_large', records: 108 })
      expect(over?.detail).to.equal('more than 107 spans in one request: send smaller batches')
      expect(refused(body, contentType, { recordsPerBatchMax: 108 })).to.equal(undefined)
    })

    it('refuses too many nodes, counting attributes, events, links and list items alike', () => {
      const link = { traceId: emptySpan.traceId, spanId: emptySpan.spanId, traceState: '', attributes: [], flags: 0 }
      const event = { timeNs: 1n, name: 'e', attributes: [], dropped: 0 }
      const crowded: readonly Partial<MadeSpan>[] = [
        { attributes: Array.from({ length: 400 }, (_none, index) => attribute(index)) },
        { events: Array.from({ length: 400 }, () => event) },
        { links: Array.from({ length: 400 }, () => link) },
        { attributes: [['list', { list: Array.from({ length: 400 }, () => ({})) }]] },
        { attributes: [['map', { map: Array.from({ length: 400 }, (_none, index) => attribute(index)) }]] },
      ]
      for (const given of crowded) {
        const one = encode(requestOf([{ ...emptySpan, ...given }]))
        expect(refused(one, contentType, { nodesPerRequestMax: 395 })?.code).to.equal('payload_too_large')
        expect(refused(one, contentType, { nodesPerRequestMax: 410 })).to.equal(undefined)
      }
    })
  })
}

describe('scanSpans, protobuf alone', () => {
  it('copies a kept span byte for byte, also one of unusual encoding', () => {
    const odd = Buffer.concat([encodeSpan(emptySpan, 'reversed'), Buffer.from([0xa0, 0x06, 0x81, 0x80, 0x00])])
    const scope = message('given', [bytesField(2, encodeSpan(emptySpan)), bytesField(2, odd), textField(77, 'later')])
    const body = message('given', [bytesField(1, message('given', [bytesField(2, scope)]))])
    const cut = Buffer.from(scanned(body, 'application/x-protobuf').cut((index) => index === 1))
    const kept = message('given', [bytesField(2, odd), textField(77, 'later')])
    expect(cut.equals(message('given', [bytesField(1, message('given', [bytesField(2, kept)]))]))).to.equal(true)
  })

  it('takes the instrumentation library groups of old senders', () => {
    const scope = message('given', [bytesField(2, encodeSpan(emptySpan))])
    const body = message('given', [bytesField(1, message('given', [bytesField(1000, scope)]))])
    const scan = scanned(body, 'application/x-protobuf')
    expect(scan.identify(0)).to.deep.equal({ traceId: emptySpan.traceId, spanId: emptySpan.spanId })
    expect(decodeSpans(body, 'application/x-protobuf', limits)).to.have.length(1)
    expect(Buffer.from(scan.cut(() => true)).equals(body)).to.equal(true)
    expect(scan.cut(() => false)).to.have.length(0)
  })

  it('takes the last of ids that are repeated', () => {
    const other = Buffer.from('0102030405060708', 'hex')
    const span = Buffer.concat([encodeSpan(emptySpan), message('given', [bytesField(2, other)])])
    const scope = message('given', [bytesField(2, span)])
    const body = message('given', [bytesField(1, message('given', [bytesField(2, scope)]))])
    expect(scanned(body, 'application/x-protobuf').identify(0).spanId).to.equal('0102030405060708')
    expect(decodeSpans(body, 'application/x-protobuf', limits)[0]?.spanId).to.equal('0102030405060708')
  })

  it('steps over unknown fields of every wire type', () => {
    const fixed64 = Buffer.from([0x89, 0x06, 1, 2, 3, 4, 5, 6, 7, 8])
    const group = Buffer.from([0xa3, 0x06, 0x08, 0x01, 0x13, 0x0d, 1, 2, 3, 4, 0x14, 0xa4, 0x06])
    const strange = [varintField(99, 2n ** 64n - 1n), textField(98, 'x'), [100, group] as const, [97, fixed64] as const]
    const span = Buffer.concat([message('given', strange), encodeSpan(emptySpan), message('given', strange)])
    const bodyOf = (...spans: readonly Uint8Array[]): Uint8Array => {
      const scope = message('given', [...strange, ...spans.map((one) => bytesField(2, one))])
      return message('given', [...strange, bytesField(1, message('given', [...strange, bytesField(2, scope)]))])
    }
    const body = bodyOf(span)
    const scan = scanned(body, 'application/x-protobuf')
    expect(scan.invalid).to.deep.equal([])
    expect(Buffer.from(scan.cut(() => true)).equals(body)).to.equal(true)
    const both = scanned(bodyOf(encodeSpan(emptySpan), span), 'application/x-protobuf')
    expect(Buffer.from(both.cut((index) => index === 1)).equals(body)).to.equal(true)
    expect(decodeSpans(body, 'application/x-protobuf', limits)[0]?.name).to.equal(emptySpan.name)
  })

  it('refuses a bomb of empty messages that are no nodes', () => {
    const resource = message(
      'given',
      Array.from({ length: 500 }, () => bytesField(1, new Uint8Array())),
    )
    const body = message('given', [bytesField(1, resource)])
    expect(refused(body, 'application/x-protobuf', { nodesPerRequestMax: 100 })?.code).to.equal('payload_too_large')
  })

  it('counts attributes to the last one', () => {
    const keys = ['a', 'b', 'c', 'd', 'e']
    const attributes = keys.map((key) => [key, { string: 'x' }] as const)
    const body = encodeProtobuf(requestOf([{ ...emptySpan, attributes }]))
    const fewest = Array.from({ length: 20 }, (_none, at) => at).find(
      (nodesPerRequestMax) => refused(body, 'application/x-protobuf', { nodesPerRequestMax }) === undefined,
    )
    // Those of the span, the name of its service, and the lists of the resource and of the scope.
    expect(fewest).to.equal(keys.length + 3)
  })
})

describe('scanSpans, JSON alone', () => {
  const json = 'application/json'
  const of = (span: unknown): Uint8Array =>
    utf8(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }))

  it('takes ids in any case, with dashes and with escapes', () => {
    const forms = ['5B8EFFF798038103D269B633813FC60C', '5b8efff7-9803-8103-d269-b633813fc60c']
    for (const traceId of forms) {
      const body = of({ ...spanJson(emptySpan), traceId })
      expect(scanned(body, json).identify(0).traceId).to.equal(emptySpan.traceId)
      expect(decodeSpans(body, json, limits)[0]?.traceId).to.equal(emptySpan.traceId)
    }
    const escaped = utf8(
      Buffer.from(of(spanJson(emptySpan)))
        .toString()
        .replace('"5b8e', String.raw`"\u0035b\u0038e`),
    )
    expect(scanned(escaped, json).identify(0).traceId).to.equal(emptySpan.traceId)
    expect(decodeSpans(escaped, json, limits)).to.have.length(1)
  })

  it('finds members by names with escapes, and takes the last of two ids', () => {
    const text = Buffer.from(of(spanJson(emptySpan))).toString()
    const renamed = utf8(text.replace('"resourceSpans"', String.raw`"resource\u0053pans"`))
    expect(scanned(renamed, json).spans).to.equal(1)
    const twice = utf8(text.replace('"name"', '"spanId":"0102030405060708","name"'))
    expect(scanned(twice, json).identify(0).spanId).to.equal('0102030405060708')
    expect(decodeSpans(twice, json, limits)[0]?.spanId).to.equal('0102030405060708')
    const unset = utf8(text.replace('"name"', '"spanId":null,"name"'))
    expect(scanned(unset, json).invalid).to.have.length(1)
    expect(decodeSpans(unset, json, limits)).to.have.length(0)
    const untraced = utf8(text.replace('"name"', '"traceId":null,"name"'))
    expect(scanned(untraced, json).invalid.map(({ reason }) => reason)).to.deep.equal(['trace_id is missing'])
  })

  it('gives no span the ids of the one before', () => {
    const body = utf8(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [spanJson(emptySpan), {}] }] }] }))
    const missing = { index: 1, traceId: '', spanId: '', reason: 'trace_id is missing' }
    expect(scanned(body, json).invalid).to.deep.equal([missing])
  })

  it('tells of an id that is none only its beginning, in lower case', () => {
    const long = scanned(of({ ...spanJson(emptySpan), traceId: 'XY'.repeat(100) }), json).invalid[0]
    expect(long).to.include({ traceId: 'xy'.repeat(32), reason: 'trace_id is not 16 bytes' })
    const escaped = Buffer.from(of({ ...spanJson(emptySpan), traceId: '@' })).toString()
    const cutWithin = utf8(escaped.replace('@', String.raw`\u0041`.repeat(60)))
    expect(scanned(cutWithin, json).invalid).to.have.length(1)
  })

  it('rejects alone a span that is no object', () => {
    const list = [null, 7, 'span', [], spanJson(emptySpan), { traceId: 5, spanId: {} }]
    const body = utf8(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: list }] }] }))
    const scan = scanned(body, json)
    expect(scan.spans).to.equal(6)
    expect(scan.invalid.map(({ index }) => index)).to.deep.equal([0, 1, 2, 3, 5])
    expect(decodeSpans(body, json, limits)).to.have.length(1)
    expect(
      scanned(
        scan.cut((index) => scan.valid(index)),
        json,
      ).invalid,
    ).to.deep.equal([])
  })

  it('keeps what stands around the spans: white space, unknown members, groups of the old name', () => {
    const [a, b, c] = ['01', '02', '03'].map((end) =>
      JSON.stringify({ ...spanJson(emptySpan), spanId: `11111111111111${end}` }),
    )
    const head = '\ufeff{ "x" : [1, {"spans":[{}]}],\n "resourceSpans" : [ {"instrumentationLibrarySpans":[{"spans":['
    const middle = '], "y":2}], "scopeSpans":[{"spans":[ '
    const tail = ']}]} ] } \n'
    const scan = scanned(utf8(`${head}${a} , ${b}${middle}${c}${tail}`), json)
    expect(scan.spans).to.equal(3)
    expect(Buffer.from(scan.cut((index) => index > 0)).toString()).to.equal(`${head}${b}${middle.trimEnd()}${c}${tail}`)
    expect(
      decodeSpans(
        scan.cut((index) => index > 0),
        json,
        limits,
      ),
    ).to.have.length(2)
  })

  it('takes null for an absent list', () => {
    for (const text of [
      '{"resourceSpans":null}',
      '{"resourceSpans":[{"scopeSpans":null}]}',
      '{"resourceSpans":[{"scopeSpans":[{"spans":null}]}]}',
    ]) {
      expect(scanned(utf8(text), json).spans).to.equal(0)
      expect(decodeSpans(utf8(text), json, limits)).to.deep.equal([])
    }
  })

  it('says what is wrong with a body of logs, of metrics, or of snake_case names', () => {
    for (const text of ['{"resourceLogs":[]}', '{"resourceMetrics":[]}', '{"resource_spans":[]}']) {
      const detail = refused(utf8(text), json, {})?.detail
      expect(detail).to.contain('resourceSpans (lowerCamelCase)')
      expect(detail).to.contain(
        'OTLP logs and metrics are not taken, and logs as JSON records go to /api/logs/v1/ingest',
      )
    }
    expect(refused(utf8('{"resourceLogs":[],"resourceSpans":[]}'), json, {})).to.equal(undefined)
  })

  it('counts the items of lists to the last one', () => {
    // A resource, a scope, a span and five attributes.
    const body = of({ ...spanJson(emptySpan), attributes: [{}, {}, {}, {}, {}] })
    expect(refused(body, json, { nodesPerRequestMax: 7 })?.code).to.equal('payload_too_large')
    expect(refused(body, json, { nodesPerRequestMax: 8 })).to.equal(undefined)
  })

  it('says of what is no object that it is no span', () => {
    for (const span of [5, 'x', null, true]) {
      expect(scanned(of(span), json).invalid.map(({ reason }) => reason)).to.deep.equal(['the span is not an object'])
    }
  })

  it('refuses a bomb of members, which are no nodes', () => {
    const text = `{"resourceSpans":[],"x":{${Array.from({ length: 10_500 }, (_none, index) => `"k${index}":0`).join()}}}`
    expect(refused(utf8(text), json, { nodesPerRequestMax: 100 })?.code).to.equal('payload_too_large')
  })
  it('refuses a bomb of values that are only stepped over', () => {
    const text = `{"resourceSpans":[],"x":${'['.repeat(300)}${'0,'.repeat(12_000)}0${']'.repeat(300)}}`
    expect(refused(utf8(text), json, { nodesPerRequestMax: 300 })?.code).to.equal('payload_too_large')
    expect(refused(utf8(text), json, { nodesPerRequestMax: 600 })).to.equal(undefined)
  })

  it('finds spans however little may be nested', () => {
    expect(scanned(of(spanJson(emptySpan)), json, { jsonDepthMax: 1 }).spans).to.equal(1)
  })
})
