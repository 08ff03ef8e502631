import { encode } from '@msgpack/msgpack'
import { expect } from 'chai'
import { limits as defaults } from '#src/config.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { scanLogs, splitBody, type LogScan } from '#src/wire/logs/scan.ts'
import type { LogMediaType } from '#src/wire/logs/media-type.ts'

const json = 'application/json'
const ndjson = 'application/x-ndjson'
const msgpack = 'application/msgpack'
/** More members than the head of a short map counts. */
const manyMembers = Array.from({ length: 20 }, (_, n) => [`k${n}`, n] as const)
/** What else senders call lines of JSON. */
const lineTypes = ['ndjson', 'x-jsonl', 'jsonlines', 'x-jsonlines', 'json-lines', 'x-json-stream'].map(
  (name) => `application/${name}`,
)

type Body = string | Uint8Array
const bytesOf = (body: Body): Uint8Array => (typeof body === 'string' ? Buffer.from(body) : body)

function scan(body: Body, contentType?: string, limits = {}): LogScan {
  const scanned = scanLogs(bytesOf(body), contentType, { ...defaults, ...limits })
  if (!scanned.ok) throw new Error(`${scanned.error.code}: ${scanned.error.detail}`)
  return scanned.value
}

function refused(body: Body, contentType?: string, limits = {}): Refusal {
  const scanned = scanLogs(bytesOf(body), contentType, { ...defaults, ...limits })
  if (scanned.ok) throw new Error(`not refused: ${JSON.stringify(scanned.value)}`)
  return scanned.error
}

const text = ({ payload }: LogScan): string => Buffer.from(payload).toString()
const list = JSON.stringify

describe('the scan of a log request', () => {
  describe('forms', () => {
    const accepted: readonly (readonly [
      name: string,
      body: Body,
      contentType: string | undefined,
      kept: string,
      records: number,
    ])[] = [
      ['an object', '{"message":"a"}', json, json, 1],
      ['an array', '[{"message":"a"},{"message":"b"}]', json, json, 2],
      ['pretty JSON', list([{ a: 1 }, { b: [{}] }], null, 2), 'application/json; charset=utf-8', json, 2],
      ['{"logs":[…]}', '{"logs":[{"msg":"a"},{"msg":"b"}]}', json, json, 2],
      ['{"events":[…]}', '{"events":[{"msg":"a"}]}', json, json, 1],
      ['{"logs":[],"events":[…]}', '{"logs":[ ],"events":[{"msg":"a"}]}', json, json, 1],
      ['a wrapper whose key is escaped', '{"\\u006cogs":[{"msg":"a"},{}]}', json, json, 2],
      ['a record that has logs', '{"logs":3}', json, json, 1],
      ['a record that has logs and a message', '{"message":"m","logs":[1,2,3]}', json, json, 1],
      ['a repeated key, the last counts', '{"logs":[{},{}],"logs":7}', json, json, 1],
      ['an empty object', '{}', json, json, 1],
      ['a wide record that has logs', `{"logs":[{},{}],${'"a":1,'.repeat(64)}"b":2}`, json, json, 1],
      ['a vendor type of JSON', '{}', 'application/vnd.acme+json', json, 1],
      ['concatenated objects', '{"a":1}{"b":2} {"c":3}', json, ndjson, 3],
      ['concatenated arrays', '[{"a":1},{"b":2}]\n[{"c":3}]', json, ndjson, 3],
      ['concatenated pretty objects', `${list({ a: 1 }, null, 2)}\n${list({ b: 2 }, null, 2)}`, json, ndjson, 2],
      ['lines', '{"a":1}\n{"b":2}\n', ndjson, ndjson, 2],
      ['one line', '{"logs":[{"a":1},{"a":2}]}\n', ndjson, ndjson, 1],
      ['lines under a JSON type', '{"a":1}\n{"b":2}', json, ndjson, 2],
      ['JSON lines', '{"a":1}\n', 'application/jsonl', ndjson, 1],
      ...['text/json', 'application/x-json'].map((type) => [type, '{"logs":[{},{}]}', type, json, 2] as const),
      ...lineTypes.map((type) => [type, '{"logs":[{},{}]}', type, ndjson, 1] as const),
      ['a MessagePack map without a type', encode({ a: 1 }), undefined, msgpack, 1],
      ['a long MessagePack map without a type', encode(Object.fromEntries(manyMembers)), undefined, msgpack, 1],
      ['MessagePack by its registered name', encode([{ a: 1 }]), 'application/vnd.msgpack', msgpack, 1],
      ['a JSON stream', '{"a":1}{"b":2}', 'application/stream+json', ndjson, 2],
      ['CRLF, blank lines, byte order mark', '\ufeff\r\n{"a":1}\r\n\r\n  \r\n{"b":2}\r\n\r\n', ndjson, ndjson, 2],
      ['byte order mark before an array', '\ufeff[{"a":1}]', json, json, 1],
      ['lines of text', 'one\n\n  two\r\nthree', 'text/plain; charset=utf-8', 'text/plain', 3],
      ['a form', 'msg=a&levelname=INFO', 'application/x-www-form-urlencoded', 'application/x-www-form-urlencoded', 1],
      ['JSON that curl calls a form', ' {"a":1}', 'application/x-www-form-urlencoded', json, 1],
      ['an array that fetch calls text', ' [{"msg":"a"},{"message":"b"}]\n', 'text/plain;charset=UTF-8', json, 2],
      ['text that is no array of records', '[{"msg":"a"},{"id":7}]', 'text/plain', 'text/plain', 1],
      ['text that begins like one', '[{"msg":"a"}] done', 'text/plain', 'text/plain', 1],
      ['lines of text, an array each', '[{"msg":"a"}]\n[{"msg":"b"}]', 'text/plain', 'text/plain', 2],
      ['lines that curl calls a form', 'a=b & c\ndisk full\n', 'application/x-www-form-urlencoded', 'text/plain', 2],
      ['a word that curl calls a form', 'started', 'application/x-www-form-urlencoded', 'text/plain', 1],
      ['MessagePack maps', encode([{ a: 1 }, { b: 2 }]), msgpack, msgpack, 2],
      ['one MessagePack map', encode({ a: 1 }), 'application/x-msgpack', msgpack, 1],
      ['a run of MessagePack maps', Buffer.concat([encode({ a: 1 }), encode({ b: 2 })]), msgpack, msgpack, 2],
      ['pairs of time and map', Buffer.concat([encode([1, { a: 1 }]), encode([1.5, { b: 2 }])]), msgpack, msgpack, 2],
      ['pairs with metadata', encode([[1, { m: 1 }], { a: 1 }]), msgpack, msgpack, 1],
      ['an array of pairs', encode([[1, { a: 1 }], [2, { b: 2 }]]), msgpack, msgpack, 2], // prettier-ignore
    ]
    for (const [name, body, contentType, kept, records] of accepted) {
      it(`takes ${name} and keeps it as received`, () => {
        const found = scan(body, contentType)
        expect(found.contentType).to.equal(kept)
        expect([found.records, found.total, found.rejected.length]).to.deep.equal([records, records, 0])
        expect(Buffer.from(found.payload).equals(bytesOf(body))).to.equal(true)
      })
    }

    const marked: readonly (readonly [name: string, body: string, contentType: string | undefined, kept: string])[] = [
      ['lines of its own type', '\u001e{"a":1}\n\u001e{"b":2}\n', 'application/json-seq', '{"a":1}\n{"b":2}\n'],
      ['lines', '\u001e{"a":1}\n\u001e{"b":2}\n', ndjson, '{"a":1}\n{"b":2}\n'],
      [
        'lines that curl calls a form',
        '\u001e{"a":1}\n\u001e{"b":2}\n',
        'application/x-www-form-urlencoded',
        '{"a":1}\n{"b":2}\n',
      ],
      ['lines without a type', '\u001e{"a":1}\n\u001e{"b":2}\n', undefined, '{"a":1}\n{"b":2}\n'],
      ['indented JSON', '\u001e{\n  "a": 1\n}\n\u001e{\n  "b": 2\n}\n', json, '{\n  "a": 1\n}\n{\n  "b": 2\n}\n'],
    ]
    for (const [name, body, contentType, kept] of marked) {
      it(`takes the marks of a JSON text sequence off ${name}`, () => {
        const found = scan(body, contentType)
        expect([found.records, found.total, text(found)]).to.deep.equal([2, 2, kept])
      })
    }

    it('takes the actions out of a body for the bulk API of Elasticsearch', () => {
      const bulk = '{"index":{"_index":"logs","_id":"7"}}\n{"msg":"a"}\n{"create":{}}\n{"msg":"b","index":{}}\n'
      const found = scan(bulk, ndjson)
      expect([found.records, found.total, text(found)]).to.deep.equal([2, 2, '{"msg":"a"}\n{"msg":"b","index":{}}\n'])
      expect(scan(bulk, json).records, 'under a JSON type').to.equal(2)
      for (const other of [
        '{"index":{"_index":"logs"}}\n',
        '{"index":{}}\n{"index":{}}\n',
        '{"msg":"a"}\n{"index":{}}\n{"msg":"b"}\n',
        '{"index":{"name":"orders"}}\n{"msg":"a"}\n',
        '{"index":7}\n{"msg":"a"}\n',
        '{"create":{},"user":7}\n{"msg":"a"}\n',
      ]) {
        expect(text(scan(other, ndjson)), other).to.equal(other)
      }
    })

    it('takes a broken text of a JSON text sequence for one record that is refused', () => {
      const found = scan('\u001e{"a":1}\n\u001e{"b":\n\u001e{"c":3}\n', 'application/json-seq')
      expect([text(found), found.rejected.map(({ index, code }) => [index, code])]).to.deep.equal([
        '{"a":1}\n{"c":3}\n',
        [[1, 'invalid_json']],
      ])
    })

    const foreign: readonly (readonly [name: string, body: Body, contentType: string, kept: Body])[] = [
      ['ISO-8859-1', Buffer.from('café', 'latin1'), 'text/plain; charset=ISO-8859-1', 'café'],
      ['a quoted charset', Buffer.from('{"m":"é"}', 'latin1'), 'application/json;charset="iso-8859-1"', '{"m":"é"}'],
      ['UTF-16', Buffer.from('\ufeff{"m":"a"}', 'utf16le'), 'application/json; charset=utf-16', '{"m":"a"}'],
      ['UTF-16 without a mark', Buffer.from('{"m":"a"}', 'utf16le'), 'application/json; charset=UTF-16LE', '{"m":"a"}'],
      ['UTF-8 under another name', 'café', 'text/plain; charset=ISO-8859-1', 'café'],
      ['a charset that nobody knows', 'café', 'text/plain; charset=binary', 'café'],
      ['MessagePack', encode({ m: 'é' }), 'application/msgpack; charset=iso-8859-1', encode({ m: 'é' })],
    ]
    for (const [name, body, contentType, kept] of foreign) {
      it(`keeps ${name} as UTF-8`, () => {
        const found = scan(body, contentType)
        expect([found.records, found.rejected.length]).to.deep.equal([1, 0])
        expect(Buffer.from(found.payload).equals(bytesOf(kept))).to.equal(true)
      })
    }

    it('refuses two wrappers that both hold records', () => {
      const both = '{"events":[{"msg":"a"}],"logs":[{"msg":"b"}]}'
      expect(refused(both, json)).to.deep.include({ code: 'invalid_body' })
      expect(scan(both, ndjson).records).to.equal(1)
    })

    it('refuses what is longer in UTF-8 than a body may be, and nothing that is not', () => {
      const decodedBytesMax = 3 << 20
      const type = 'text/plain; charset=iso-8859-1'
      const found = scan(Buffer.alloc(1 << 20, 0x80), type, { decodedBytesMax })
      expect(found.payload).to.have.length(decodedBytesMax)
      const refusal = refused(Buffer.alloc((1 << 20) + 1, 0x80), type, { decodedBytesMax })
      expect(refusal.code).to.equal('payload_too_large')
    })

    it('keeps letters that are cut by the steps of a long body', () => {
      const long = `${'a'.repeat((1 << 20) - 1)}é支`
      const found = scan(Buffer.from(long, 'utf16le').subarray(0), 'text/plain; charset=utf-16le')
      expect(Buffer.from(found.payload).toString()).to.equal(long)
      const shifted = `x${'支'.repeat(700_000)}`
      const sjis = Buffer.concat([Buffer.from('x'), Buffer.alloc(1_400_000, Buffer.from([0x8e, 0x78]))])
      expect(Buffer.from(scan(sjis, 'text/plain; charset=shift_jis').payload).toString()).to.equal(shifted)
    })

    const empty: readonly (readonly [body: Body, contentType: string | undefined])[] = [
      ['', undefined],
      ['', json],
      ['[]', json],
      ['{"logs":[]}', json],
      ['{"events":[]}', undefined],
      ['\n\n', ndjson],
      ['', 'text/plain'],
      ['', 'application/x-www-form-urlencoded'],
      [encode([]), msgpack],
      ['', msgpack],
    ]
    it('takes an empty batch as a success without records', () => {
      for (const [body, contentType] of empty) {
        const { records, total } = scan(body, contentType)
        expect([records, total], `${String(contentType)} ${body.toString()}`).to.deep.equal([0, 0])
      }
    })

    it('tells by the bytes what has no type, or only that of bytes', () => {
      for (const type of [undefined, '', 'application/octet-stream']) {
        expect(scan('{"a":1}', type).contentType).to.equal(json)
        expect(scan('[{"a":1}]', type).contentType).to.equal(json)
        expect(scan('\ufeff {"a":1}', type).contentType).to.equal(json)
        expect(scan('{"a":1}\n{"b":2}', type).contentType).to.equal(ndjson)
        expect(scan(encode([{ a: 1 }]), type).contentType).to.equal(msgpack)
        expect(scan(encode(Array.from({ length: 40 }, () => ({}))), type)).to.include({
          contentType: msgpack,
          records: 40,
        })
        expect(scan('Nov 21 host app: up\n', type)).to.include({ contentType: 'text/plain', records: 1 })
        // The first byte of this text is that of a MessagePack array.
        expect(scan('\u0700 in Syriac', type).contentType).to.equal('text/plain')
      }
    })

    it('refuses what is no log body', () => {
      for (const type of [
        'image/png',
        'application/grpc',
        'application/x-protobuf',
        'multipart/form-data',
        'text/html',
      ]) {
        expect(refused('{}', type).code).to.equal('unsupported_media_type')
      }
      expect(refused(Buffer.from([0x1f, 0x8b, 0x08, 0xff])).code).to.equal('unsupported_media_type')
    })

    it('says of protobuf, which is OTLP or a push to Loki, that it is no log body here', () => {
      for (const type of ['application/x-protobuf', 'application/protobuf', 'Application/X-Protobuf; a=b']) {
        expect(refused('', type).detail).to.equal(
          'neither OTLP nor a push to Grafana Loki is read here: traces go to /api/traces/v1/otlp, and logs are sent as JSON records',
        )
      }
    })
  })

  describe('bad records', () => {
    it('leaves out what is no object, and keeps the others byte for byte', () => {
      const found = scan('[ {"a": 1.0} , 5, "x", null, [], {"b":"\\u00e9"} ]', json)
      expect(text(found)).to.equal('[{"a": 1.0},{"b":"\\u00e9"}]')
      expect([found.records, found.total]).to.deep.equal([2, 6])
      expect(found.rejected.map(({ index, code }) => [index, code])).to.deep.equal(
        [1, 2, 3, 4].map((index) => [index, 'not_an_object']),
      )
      expect(scan(text(found), found.contentType).records).to.equal(2)
    })

    it('leaves out a line that is not JSON', () => {
      for (const type of [ndjson, json, undefined]) {
        const found = scan('{"a":1}\noops\n{"b":\n{"c":3} x\n{"d":4}\r\n{"e"', type)
        expect(found.contentType).to.equal(ndjson)
        expect(text(found)).to.equal('{"a":1}\n{"d":4}\n')
        expect(found.rejected.map(({ index, code }) => [index, code])).to.deep.equal(
          [1, 2, 3, 5].map((index) => [index, 'invalid_json']),
        )
      }
      const broken = scan('{"a":1}\n{"b" 2}\n', ndjson)
      expect(broken.rejected[0]?.message).to.equal('not JSON at byte 5 of the line')
      const single = scan('{"a":1}\n{"b":2', json)
      expect([text(single), single.rejected.length], 'a single whole line').to.deep.equal(['{"a":1}\n', 1])
    })

    it('takes commas behind the lines, and stores them without', () => {
      const found = scan('{"a":1},\n{"b":2},\n', ndjson)
      expect([text(found), found.records, found.rejected.length]).to.deep.equal(['{"a":1}\n{"b":2}\n', 2, 0])
      const single = scan('{"a":1},', json)
      expect([text(single), single.contentType]).to.deep.equal(['[{"a":1}]', json])
    })

    it('leaves out what is nested too deep, however deep', () => {
      const deep = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
      const found = scan(`[{"ok":1},${deep(defaults.jsonDepthMax + 1)},${deep(defaults.jsonDepthMax)}]`, json)
      expect(found.rejected.map(({ index, code }) => [index, code])).to.deep.equal([[1, 'too_deep']])
      expect(found.records).to.equal(2)
      for (const depth of [1_000, 9_000]) expect(scan(deep(depth), json).rejected[0]?.code).to.equal('too_deep')
      for (const depth of [20_000, 1_000_000]) expect(refused(deep(depth), json).code).to.equal('invalid_body')
      expect(scan(`{"a":1}\n${deep(20_000)}\n`, ndjson).records).to.equal(1)
    })

    it('leaves out MessagePack items that are no maps, byte for byte', () => {
      const found = scan(encode([{ a: 1 }, 5, 'x', [1, 2, 3], { b: 2n }], { useBigInt64: true }), msgpack)
      expect(found.rejected.map(({ index, code }) => [index, code])).to.deep.equal(
        [1, 2, 3].map((index) => [index, 'not_an_object']),
      )
      const kept = Buffer.concat([encode({ a: 1 }), encode({ b: 2n }, { useBigInt64: true })])
      expect(Buffer.from(found.payload).equals(kept)).to.equal(true)
      expect(scan(found.payload, msgpack).records).to.equal(2)
    })

    it('leaves out MessagePack that is nested too deep, however deep', () => {
      const deep = (depth: number): Buffer => Buffer.concat([Buffer.from([0x81, 0xa1, 0x61]), Buffer.alloc(depth - 1, 0x91), Buffer.from([0xc0])]) // prettier-ignore
      expect(scan(deep(defaults.jsonDepthMax), msgpack).records).to.equal(1)
      expect(scan(deep(defaults.jsonDepthMax + 1), msgpack).rejected[0]?.code).to.equal('too_deep')
      expect(refused(deep(1_000_000), msgpack).code).to.equal('invalid_body')
    })
  })

  describe('bodies that are broken as a whole', () => {
    it('refuses broken JSON and says where', () => {
      for (const body of [
        '{"a":1',
        '[{"a":1},',
        '[{"a":1}{"b":2}]',
        '{a:1}',
        '[{"a":1},]',
        '{"logs":[{"a":1}',
        '"x',
        '{"a":"\t"}',
      ]) {
        expect(refused(body, json).code, body).to.equal('invalid_body')
      }
      expect(refused('[{"a":1},', json).detail).to.contain('byte 9')
    })

    it('does not take the lines of a broken larger value for records', () => {
      expect(refused('[\n{"a":1},\n{"b":2}\n', json).code).to.equal('invalid_body')
      expect(refused('{"logs":[\n{"a":1},\n{"b":2}\n', json).code).to.equal('invalid_body')
      expect(refused('{\n  "a": 1,\n  "b": {"c":1}\n', json).code).to.equal('invalid_body')
    })

    it('refuses broken MessagePack', () => {
      const whole = encode([{ message: 'hello', n: 12345678901 }])
      for (let length = 1; length < whole.length; length++) {
        expect(refused(whole.subarray(0, length), msgpack).code, `cut at ${length}`).to.equal('invalid_body')
      }
      expect(refused(Buffer.from([0xc1]), msgpack).code).to.equal('invalid_body')
    })

    it('refuses lengths that cannot be true before they cost anything', () => {
      for (const head of [[0xdd], [0xdf], [0xdb], [0xc6], [0xc9]]) {
        expect(refused(Buffer.from([...head, 0xff, 0xff, 0xff, 0xff, 0x00]), msgpack).code).to.equal('invalid_body')
      }
    })
  })

  describe('limits', () => {
    it('refuses more records than a batch may have, in every form', () => {
      const limits = { recordsPerBatchMax: 3 }
      const maps = Array.from({ length: 4 }, (_unused, n) => ({ n }))
      const forms: readonly (readonly [Body, string])[] = [
        [list(maps), json],
        [list({ logs: maps }), json],
        [maps.map((map) => list(map)).join('\n'), ndjson],
        ['{"a":1}\noops\n{}\n{}', ndjson],
        ['[1,2,3,4]', json],
        [encode(maps), msgpack],
        ['a\nb\nc\nd', 'text/plain'],
      ]
      for (const [body, type] of forms) expect(refused(body, type, limits).code).to.equal('payload_too_large')
      expect(scan(list(maps.slice(1)), json, limits).records).to.equal(3)
    })

    it('refuses more values than a request may have, in every form', () => {
      const limits = { nodesPerRequestMax: 100 }
      const items = Array.from({ length: 120 }, () => 1)
      expect(refused(list({ items }), json, limits).code).to.equal('payload_too_large')
      expect(refused(encode({ items }), msgpack, limits).code).to.equal('payload_too_large')
      expect(refused('a=1&'.repeat(120), 'application/x-www-form-urlencoded', limits).code).to.equal(
        'payload_too_large',
      )
    })

    it('counts the values of a wrapped batch once', () => {
      const records = Array.from({ length: 10 }, (_unused, n) => ({ n, a: [1, 2] }))
      const values = 10 * 5
      for (const [form, body, around] of [
        ['an array', records, 0],
        ['logs', { logs: records }, 2],
        ['events', { events: records }, 2],
        ['a member beside them, which is kept with each', { service: 'x', logs: records }, 3 + 10],
      ] as const) {
        const limits = { nodesPerRequestMax: values + around }
        expect(scan(list(body), json, limits).records, form).to.equal(10)
        const oneLess = { nodesPerRequestMax: values + around - 1 }
        expect(refused(list(body), json, oneLess).code, form).to.equal('payload_too_large')
      }
    })

    it('counts the records of a list that has too many values, whatever they are', () => {
      const records = Array.from({ length: 10 }, (_unused, n) => ({ n }))
      const counted: readonly (readonly [body: Body, contentType: string])[] = [
        [list(records), 'text/plain'],
        [list({ level: 'info', logs: records }), json],
        [encode({ level: 'info', logs: records }), msgpack],
      ]
      for (const [body, contentType] of counted) {
        expect(refused(body, contentType, { nodesPerRequestMax: 19 }).records, contentType).to.equal(10)
      }
      // Which of both lists holds them is not known.
      const both = list({ level: 'info', logs: records, events: records })
      expect(refused(both, json, { nodesPerRequestMax: 19 })).to.include({ code: 'payload_too_large', records: 1 })
    })

    it('accepts a record of any length', () => {
      const long = list({ message: 'x'.repeat(defaults.recordBytesMax * 2) })
      expect(scan(long, json).records).to.equal(1)
    })

    it('stays linear where lines are blank or open without end', () => {
      const limits = { recordsPerBatchMax: 1_000_000, nodesPerRequestMax: 100_000_000 }
      expect(scan('\n'.repeat(2_000_000), ndjson, limits).total).to.equal(0)
      expect(scan(`${' '.repeat(1_000)}\n`.repeat(2_000), 'text/plain', limits).total).to.equal(0)
      const open = scan('[1,\n'.repeat(100_000), ndjson, limits)
      expect([open.records, open.total]).to.deep.equal([0, 100_000])
    })
  })
})

describe('a log body of millions of small records', () => {
  it('is read as far as one record more than a request may have, whatever comes behind', () => {
    const count = 200_000
    const bodies: readonly (readonly [LogMediaType, Uint8Array])[] = [
      [json, Buffer.from(`[${'{},'.repeat(count)}{}]`)],
      [json, Buffer.from(`{"logs":[${'{},'.repeat(count)}{}]}`)],
      [json, Buffer.from(`${'{}\n'.repeat(count)}{`)],
      [ndjson, Buffer.from(`${'{}\n'.repeat(count)}{`)],
      [ndjson, Buffer.from(`{\n${'{}\n'.repeat(count)}`)],
      [ndjson, Buffer.from('0\n'.repeat(count))],
      ['text/plain', Buffer.from('a\n'.repeat(count))],
      [msgpack, Buffer.alloc(count, 0x80)],
      [msgpack, Buffer.concat([Buffer.from([0xdd, 0, 3, 0x0d, 0x40]), Buffer.alloc(count, 0xc0)])],
    ]
    for (const [mediaType, body] of bodies) {
      const { code, detail } = refused(body, mediaType)
      expect([code, detail], mediaType).to.deep.equal([
        'payload_too_large',
        'more than 10000 records in one request; send smaller batches',
      ])
      const split = splitBody(body, mediaType, defaults)
      expect(split.ok && split.value.total, mediaType).to.equal(defaults.recordsPerBatchMax + 1)
    }
  })
})
