import { expect } from 'chai'
import { limits as defaults } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { scanLogs } from '#src/wire/logs/scan.ts'

const receivedAt = 1_795_240_001_079
const arrival = BigInt(receivedAt) * 1_000_000n
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

function decode(body: string | Uint8Array, contentType = 'application/json', limits = {}): readonly LogRecord[] {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const scanned = scanLogs(bytes, contentType, defaults)
  if (!scanned.ok) throw new Error(scanned.error.detail)
  const records = decodeLogs(scanned.value.payload, scanned.value.contentType, {
    receivedAt,
    limits: { ...defaults, ...limits },
  })
  expect(records).to.have.lengthOf(scanned.value.records)
  expect(records.map(({ ordinal }) => ordinal)).to.deep.equal(records.map((_record, index) => index))
  return records
}

/** The record that one object, in JSON or as its text, becomes. */
function one(record: unknown, limits = {}): LogRecord {
  const [found] = decode(typeof record === 'string' ? record : stringifyJson(record), 'application/json', limits)
  return found as LogRecord
}

describe('the decoding of log records', () => {
  describe('time', () => {
    it('is that of arrival without one, silently', () => {
      expect(one({ message: 'x' })).to.deep.include({ timeNs: arrival, cuts: [] })
      expect(one({ timestamp: '', time: null })).to.deep.include({ timeNs: arrival, cuts: [] })
    })
    it('is that of arrival when none can be read, with a note', () => {
      expect(one({ timestamp: 'soon' })).to.deep.include({
        timeNs: arrival,
        cuts: ['no time could be read from timestamp'],
      })
      expect(one({ time: '2026-11-25T10:00:00[Europe/Berlin]' })).to.deep.include({
        timeNs: arrival,
        cuts: ['no time could be read from time'],
      })
      expect(one({ timestamp: 'soon', ts: 7e8 })).to.deep.include({ timeNs: 700_000_000_000_000_000n, cuts: [] })
    })
    it('keeps every digit of a number', () => {
      expect(one('{"time":1795240001079262377}').timeNs).to.equal(1_795_240_001_079_262_377n)
      expect(one('{"date":1795240001.079262377}').timeNs).to.equal(1_795_240_001_079_262_377n)
      const [first, second] = decode('[{"date":1795240001.079262377},{"date":1795240001.5,"n":1}]')
      expect([first?.timeNs, second?.timeNs]).to.deep.equal([1_795_240_001_079_262_377n, 1_795_240_001_500_000_000n])
      expect(decode('{"date":1795240001.079262377}\n{"ts":100000000.000000000000001}', 'application/x-ndjson').map((r) => r.timeNs)) // prettier-ignore
        .to.deep.equal([1_795_240_001_079_262_377n, 100_000_000_000_000_000n])
    })
    it('keeps every digit when other times beside it are as long', () => {
      const taken = '"ts":1795240001.123456789'
      const created = '"created":1795240001.9876543219'
      for (const members of [`${taken},${created}`, `${created},${taken}`, `${created},"a":{${created}},${taken}`]) {
        expect(one(`{${members},"msg":"x"}`).timeNs, members).to.equal(1_795_240_001_123_456_789n)
      }
      // Whose first time is none has the digits of the next.
      expect(one(`{"time":0.${'1'.repeat(200)}e-3,${created},"msg":"x"}`).timeNs).to.equal(1_795_240_001_987_654_321n)
    })
    it('has timeUnixNano in nanoseconds whatever its size, and 0 there for none', () => {
      expect(one({ timeUnixNano: '1795240001079262377' }).timeNs).to.equal(1_795_240_001_079_262_377n)
      expect(one('{"timeUnixNano":1795240001079262377}').timeNs).to.equal(1_795_240_001_079_262_377n)
      expect(one({ timeUnixNano: 5 }).timeNs).to.equal(5n)
      expect(one({ timeUnixNano: '0' }).timeNs).to.equal(arrival)
    })
    it('has the nanoseconds of timestampSeconds in the field beside it', () => {
      expect(one({ timestampSeconds: 5, timestampNanos: 7 }).timeNs).to.equal(5_000_000_007n)
      expect(one({ timestampSeconds: 5 }).timeNs).to.equal(5_000_000_000n)
      expect(one({ timestampSeconds: 'x' }).timeNs).to.equal(arrival)
    })
    it('is none in a number that is how long something took, or since when a page is open', () => {
      const none = (name: string): readonly string[] => [`no time could be read from ${name}`]
      for (const time of [12, 0.003, 98_765_432.1, '35', '0.5', -7]) {
        expect(one({ msg: 'GET / 200', time }), String(time)).to.deep.include({ timeNs: arrival, cuts: none('time') })
        const dated = one({ msg: 'GET / 200', time, date: '2026-11-21T00:00:00Z' })
        expect(dated.timeNs).to.equal(BigInt(Date.parse('2026-11-21T00:00:00Z')) * 1_000_000n)
      }
      expect(one({ timestamp: 1_234.5 })).to.deep.include({ timeNs: arrival, cuts: none('timestamp') })
      expect(one({ ts: 100_000_000 }).timeNs).to.equal(100_000_000_000_000_000n)
    })
    it('is moved into what can be stored, with a note', () => {
      const note = ['time outside 1970 to 2262 moved to the nearest that can be stored']
      expect(one({ time: '1969-12-31T23:59:59Z' })).to.deep.include({ timeNs: 0n, cuts: note })
      expect(one({ time: '2263-01-01' })).to.deep.include({ timeNs: 9_223_372_036_854_775_807n, cuts: note })
      expect(one('{"time":18446744073709551615}')).to.deep.include({ timeNs: 9_223_372_036_854_775_807n, cuts: note })
      expect(one({ time: '2262-04-11T23:47:16.854775807Z' })).to.deep.include({
        timeNs: 9_223_372_036_854_775_807n,
        cuts: [],
      })
    })
  })

  describe('level', () => {
    it('believes names over numbers', () => {
      expect(one({ level: 30, severity: 'error' }).level).to.equal('error')
      expect(one({ level: 'info', severity: 17 }).level).to.equal('info')
      expect(one({ level: 50, status: 'warning' }).level).to.equal('warn')
      expect(one({ level: 'strange', lvl: 40 }).level).to.equal('warn')
    })
    it('reads numbers of pino, of OpenTelemetry and of GELF', () => {
      expect(one({ level: 50 }).level).to.equal('error')
      expect(one({ severityNumber: 17 }).level).to.equal('error')
      expect(one({ severity_number: 10 }).level).to.equal('info')
      expect(one({ version: '1.1', short_message: 'x', level: 3 }).level).to.equal('error')
      expect(one({ level: 3 }).level).to.equal('trace')
    })
    it('takes a status for it only when it says one', () => {
      expect(one({ status: 'error' }).level).to.equal('error')
      expect(one({ status: 500 }).level).to.equal(null)
      expect(one({ status: 'ok' }).level).to.equal(null)
    })
  })

  describe('message', () => {
    it('is text whatever it was', () => {
      expect(one({ message: { a: 1 } }).message).to.equal('{"a":1}')
      expect(one({ message: [1, 'x'] }).message).to.equal('[1,"x"]')
      expect(one({ message: 5 }).message).to.equal('5')
      expect(one('{"message":9007199254740993}').message).to.equal('9007199254740993')
      expect(one({ message: false }).message).to.equal('false')
      expect(one({ body: { stringValue: 'otel' } }).message).to.equal('otel')
      expect(one({ body: { intValue: '7' } }).message).to.equal('7')
      expect(one({ body: { stringValue: 5 } }).message).to.equal('{"stringValue":5}')
      expect(one({ body: { reason: 'x' } }).message).to.equal('{"reason":"x"}')
      expect(one({ body: { kvlistValue: { values: [] } } }).message).to.equal('{"kvlistValue":{"values":[]}}')
      expect(one({ a: 1 }).message).to.equal('')
    })
    it('is not the objects that ECS has under log and event', () => {
      expect(one({ log: { level: 'info', logger: 'x' }, event: { dataset: 'y' }, content: 'c' }).message).to.equal('c')
    })
  })

  describe('ids', () => {
    const found = (record: unknown): unknown[] => {
      const { traceId, spanId } = one(record)
      return [traceId, spanId]
    }
    it('takes trace ids of every width, in any case, with dashes', () => {
      const upper = { trace_id: '4BF92F35-77B3-4DA6-A3CE-929D0E0E4736', span_id: spanId.toUpperCase() }
      expect(found(upper)).to.deep.equal([traceId, spanId])
      expect(found({ trace_id: spanId })).to.deep.equal([spanId.padStart(32, '0'), null])
      expect(found({ trace_id: `0x${traceId}`, span_id: `0X${spanId}` })).to.deep.equal([traceId, spanId])
    })
    it("takes Datadog's decimal ids", () => {
      const decimal = { 'dd.trace_id': '1234567890123456789', dd: { span_id: '987654321' } }
      expect(found(decimal)).to.deep.equal(['112210f47de98115'.padStart(32, '0'), '000000003ade68b1'])
      expect(found('{"dd":{"trace_id":18446744073709551615,"span_id":1}}')).to.deep.equal(['f'.repeat(16).padStart(32, '0'), '0000000000000001']) // prettier-ignore
      expect(found({ 'dd.trace_id': traceId })).to.deep.equal([traceId, null])
      // 16 digits are decimal here, and hexadecimal elsewhere.
      expect(found({ 'dd.trace_id': '1234567890123456' })[0]).to.equal('000462d53c8abac0'.padStart(32, '0'))
      expect(found({ 'dd.span_id': '1234567890123456' })[1]).to.equal('000462d53c8abac0')
      for (const none of ['18446744073709551616', '0']) {
        expect(found({ 'dd.trace_id': none, 'dd.span_id': none }), none).to.deep.equal([null, null])
      }
      expect(found({ trace_id: '1234567890123456' })[0]).to.equal('1234567890123456'.padStart(32, '0'))
    })
    it('takes a traceparent, for what the names leave open', () => {
      const traceparent = `00-${traceId}-${spanId}-01`
      expect(found({ traceparent })).to.deep.equal([traceId, spanId])
      expect(found({ traceparent, span_id: 'a'.repeat(16) })).to.deep.equal([traceId, 'a'.repeat(16)])
      expect(found({ traceparent, trace_id: 'b'.repeat(32) })).to.deep.equal(['b'.repeat(32), null])
      for (const bad of [
        `ff-${traceId}-${spanId}-01`,
        `00-${'0'.repeat(32)}-${spanId}-01`,
        `00-${traceId}-${spanId}-01-x`,
        'x',
        7,
      ]) {
        expect(found({ traceparent: bad })).to.deep.equal([null, null])
      }
    })
    it('takes no other', () => {
      for (const bad of [
        '0'.repeat(32),
        `0x${'0'.repeat(32)}`,
        `0x0x${traceId}`,
        '0x',
        'x'.repeat(32),
        'abc',
        '',
        '1'.repeat(31),
        5.5,
        -1,
        true,
        {},
        [traceId],
        'a'.repeat(999),
      ]) {
        expect(found({ trace_id: bad, span_id: bad }), JSON.stringify(bad)).to.deep.equal([null, null])
      }
      expect(found({ trace_id: 'none', traceId })).to.deep.equal([traceId, null])
    })
    it('takes sessions of 1 to 128 characters', () => {
      expect(one({ session_id: 'x'.repeat(128) }).sessionId).to.equal('x'.repeat(128))
      expect(one({ session_id: 'x'.repeat(129) }).sessionId).to.equal(null)
      expect(one({ session_id: 42 }).sessionId).to.equal('42')
      expect(one({ session_id: { id: 'x' } }).sessionId).to.equal(null)
    })
    it('takes sessions as long as the limit says', () => {
      const limits = { sessionIdCharactersMax: 3 }
      expect(one({ session_id: 'abc' }, limits).sessionId).to.equal('abc')
      expect(one({ session_id: 'abcd' }, limits).sessionId).to.equal(null)
    })
  })

  describe('forms', () => {
    it('gives the same records for every form of the same batch', () => {
      const records = [
        { message: 'a', level: 'info', n: 1 },
        { msg: 'b', deep: { x: [1, null] } },
      ]
      const bare = decode(JSON.stringify(records))
      expect(bare.map(({ fields }) => fields)).to.deep.equal(records)
      const lines = records.map((record) => JSON.stringify(record)).join('\r\n')
      expect(decode(JSON.stringify({ logs: records }))).to.deep.equal(bare)
      expect(decode(JSON.stringify({ events: records }))).to.deep.equal(bare)
      expect(decode(`\ufeff${lines}`, 'application/x-ndjson')).to.deep.equal(bare)
      expect(decode(lines.replace('\r\n', ''), 'application/stream+json')).to.deep.equal(bare)
      expect(decode(records.map((record) => JSON.stringify(record, null, 2)).join('\n'))).to.deep.equal(bare)
      expect(decode(`[${lines.replace('\r\n', ']\n[')}]`)).to.deep.equal(bare)
    })

    it('does not take the lists of a record for its batch', () => {
      const found = decode('{"message":"m","logs":[{"a":1},{"b":2}]}')
      expect(found.map(({ message }) => message)).to.deep.equal(['m'])
      expect(decode('{"level":"info","events":[{"a":1},{"b":2}]}')).to.have.lengthOf(1)
    })

    it('gives one record of what was kept as a form, though it would be lines if it came now', () => {
      const kept = decodeLogs(Buffer.from('a b\nc'), 'application/x-www-form-urlencoded', {
        receivedAt: 0,
        limits: defaults,
      })
      expect(kept).to.have.lengthOf(1)
    })

    it('gives a record for each line of text, white space in front kept', () => {
      const found = decode('Error: x\n    at main (a.js:1)\r\n\nlast\ufffd\n', 'text/plain')
      expect(found.map(({ message }) => message)).to.deep.equal(['Error: x', '    at main (a.js:1)', 'last\ufffd'])
      expect(found[1]?.fields).to.deep.equal({ message: '    at main (a.js:1)' })
    })
  })

  describe('fields', () => {
    it('are the untouched record, integers exact', () => {
      const text =
        '{"message":"x","max":18446744073709551615,"min":-9223372036854775808,"odd":9007199254740993,"big":1e400,"f":0.1,"list":[9007199254740993]}'
      expect(one(text).fields).to.deep.equal({
        message: 'x', max: 18_446_744_073_709_551_615n, min: -9_223_372_036_854_775_808n, odd: 9_007_199_254_740_993n,
        big: '1e400', f: 0.1, list: [9_007_199_254_740_993n],
      }) // prettier-ignore
      expect(stringifyJson(one(text).fields)).to.equal(text.replace('1e400', '"1e400"'))
    })

    it('have names of every kind as ordinary names, and leave prototypes alone', () => {
      const names = [
        '__proto__',
        'constructor',
        'prototype',
        'toString',
        'hasOwnProperty',
        '',
        'a.b',
        '0',
        'k'.repeat(65_536),
        '\u0000',
      ]
      const text = `{${names.map((name) => `${JSON.stringify(name)}:{"polluted":true}`).join(',')}}`
      for (const limits of [{}, { attributesPerRecordMax: 20, nestingDepthMax: 1 }]) {
        const { fields } = one(text, limits)
        expect(Object.keys(fields).sort()).to.deep.equal([...names].sort())
        for (const name of names) expect(Object.hasOwn(fields, name), name.slice(0, 20)).to.equal(true)
        expect(one(text, limits)).to.include({ message: '', service: null, level: null })
      }
      for (const large of [`"text":"${'t'.repeat(5_000)}"`, `"numbers":[${'1,'.repeat(5_000)}1]`]) {
        const { fields } = one(`{"__proto__":{"polluted":true},${large}}`, { recordBytesMax: 1_000 })
        expect(Object.hasOwn(fields, '__proto__'), large.slice(0, 10)).to.equal(true)
      }
      const form = names.map((name) => `${encodeURIComponent(name)}=polluted`).join('&')
      const [fromForm] = decode(form, 'application/x-www-form-urlencoded')
      expect(Object.keys(fromForm?.fields ?? {}).sort()).to.deep.equal([...names].sort())
      expect(Reflect.ownKeys(Object.prototype)).to.not.include('polluted')
      expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined)
    })

    it('are well formed, the whole batch kept', () => {
      const found = decode('[{"message":"a\\ud800b","\\udc00":"\\u0000\\ufffe\\u202e\\u001b[31m"},{"message":"ok"}]')
      expect(found[0]?.message).to.equal('a\ufffdb')
      expect(found[0]?.fields).to.deep.equal({ message: 'a\ufffdb', '\ufffd': '\u0000\ufffe\u202e\u001b[31m' })
      expect(found[1]?.fields).to.deep.equal({ message: 'ok' })
      const under = one('{"a":"x\\ud800","b":["\\udc00"]}').fields
      expect(under, 'under names that are').to.deep.equal({ a: 'x\ufffd', b: ['\ufffd'] })
      const latin = Buffer.concat([Buffer.from('{"message":"caf'), Buffer.from([0xe9]), Buffer.from('"}')])
      expect(decode(latin)[0]?.message).to.equal('caf\ufffd')
    })

    it('have well-formed names', () => {
      expect(one('{"\\udc00":1}')).to.deep.include({ fields: { '\ufffd': 1 }, cuts: [] })
    })

    it('have one value for each name, with a note where names have become one', () => {
      const { fields, cuts } = one('{"\\ud800":1,"\\udc00":2,"\ufffd":3,"a":[{"\\ud800":4,"\\udc00":5},{"\\udc00":6}]}')
      expect(fields).to.deep.equal({ '\ufffd': 3, a: [{ '\ufffd': 5 }, { '\ufffd': 6 }] })
      expect(cuts).to.deep.equal(['3 fields left out whose names are the same when well formed'])
    })

    it('are cut at the depth that is stored, with a note', () => {
      const deep = (depth: number): string => `{"message":"m","a":${'{"b":'.repeat(depth)}1${'}'.repeat(depth)}}`
      expect(one(deep(defaults.nestingDepthMax - 1)).cuts).to.deep.equal([])
      const { cuts, fields, message } = one(deep(100))
      expect([cuts, message]).to.deep.equal([['fields cut at depth 32'], 'm'])
      const inner = defaults.nestingDepthMax - 1
      const expected = `{"message":"m","a":${'{"b":'.repeat(inner)}"…[cut at depth 32]"${'}'.repeat(inner)}}`
      expect(stringifyJson(fields)).to.equal(expected)
      const lists = (depth: number): string => `{"message":"m","a":${'['.repeat(depth)}1${']'.repeat(depth)}}`
      expect(one(lists(inner)).cuts).to.deep.equal([])
      const cutLists = `{"message":"m","a":${'['.repeat(inner)}"…[cut at depth 32]"${']'.repeat(inner)}}`
      expect(stringifyJson(one(lists(100)).fields)).to.equal(cutLists)
    })

    it('are at most so many, outer ones first, with a note', () => {
      const many = Object.fromEntries(Array.from({ length: 300 }, (_unused, n) => [`k${n}`, n]))
      const { fields, cuts, message, traceId: trace } = one({ ...many, message: 'm', trace_id: traceId })
      expect(Object.keys(fields)).to.have.lengthOf(256)
      expect(cuts).to.deep.equal(['46 fields beyond 256 left out'])
      const oneMore = Object.fromEntries(Array.from({ length: 257 }, (_unused, n) => [`k${n}`, n]))
      expect(one(oneMore).cuts).to.deep.equal(['1 fields beyond 256 left out'])
      const { k0: _k0, ...asMany } = oneMore
      expect(one(asMany).cuts).to.deep.equal([])
      // What the record means is read before anything is left out, and is no longer than a record may be.
      expect([message, trace]).to.deep.equal(['m', traceId])
      const long = one({ ...many, message: 'm'.repeat(20_000) }, { recordBytesMax: 10_000 })
      expect(long.message).to.equal(`${'m'.repeat(9_998)}…[cut 10002 bytes]`)
      const inner = one({ a: many, z: 1 }).fields
      expect(Object.keys(inner['a'] as object)).to.have.lengthOf(254)
      expect(inner['z']).to.equal(1)
      const items = Array.from({ length: 300 }, (_unused, n) => ({ n, file: 'x', line: 1 }))
      expect(one({ frames: items }).cuts).to.deep.equal([])
      expect(one({ frames: items }).fields).to.deep.equal({ frames: items })
      const nested = items.map((item) => ({ at: item }))
      expect(one({ ...Object.fromEntries(Object.entries(many).slice(0, 251)), nested }).cuts).to.deep.equal([])
      const full = { list: [many, many] }
      expect((one(full).fields['list'] as object[]).map((item) => Object.keys(item).length)).to.deep.equal([255, 255])
    })

    it('and message are cut to the size of a record, never inside a character', () => {
      for (const unit of ['x', '😀', '\u0000']) {
        const message = `${unit.repeat(40_000)}end`
        const { message: cut, fields, cuts } = one({ message, level: 'info', n: 1 }, { recordBytesMax: 10_000 })
        expect(Buffer.byteLength(stringifyJson(fields))).to.be.within(9_000, 10_000)
        expect(cut.isWellFormed()).to.equal(true)
        const [, gone] = /…\[cut (\d+) bytes\]$/.exec(cut) ?? []
        const kept = cut.slice(0, cut.lastIndexOf('…'))
        expect(
          message.startsWith(kept) && Number(gone) === Buffer.byteLength(message) - Buffer.byteLength(kept),
        ).to.equal(true)
        expect(fields).to.deep.equal({ message: cut, level: 'info', n: 1 })
        expect(cuts).to.have.lengthOf(1)
      }
      // It is bytes that count, of which a character may have several.
      const short = one({ message: '😀'.repeat(4_000) }, { recordBytesMax: 10_000 })
      expect(Buffer.byteLength(stringifyJson(short.fields))).to.be.within(9_000, 10_000)
    })

    it('of which several are long are cut alike, and short ones not', () => {
      const record = { message: 'm'.repeat(5_000), stack: 's'.repeat(30_000), body: 'b'.repeat(30_000), n: 1 }
      const { fields, message } = one(record, { recordBytesMax: 20_000 })
      expect(message).to.equal(record.message)
      expect(Math.abs(String(fields['stack']).length - String(fields['body']).length)).to.be.lessThan(3)
      expect(Buffer.byteLength(stringifyJson(fields))).to.be.within(19_000, 20_000)
    })

    it('that are large without long texts are left out, the largest first', () => {
      const record = { message: 'm', big: Array.from({ length: 10_000 }, (_unused, n) => n), small: [1, 2] }
      const { fields, cuts } = one(record, { recordBytesMax: 10_000 })
      expect(fields).to.deep.equal({ message: 'm', small: [1, 2] })
      expect(cuts).to.include('1 fields left out for their size')
    })
  })
})
