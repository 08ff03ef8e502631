import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { Span } from '#src/events/telemetry.ts'
import { type Json, stringifyJson } from '#src/lib/json.ts'
import { emptySpan, encodeJson, makeTraces, requestOf, spanJson, utf8 } from '#test/support/otlp.ts'
import { decodeScanned } from './decode-scanned.ts'

describe('decodeSpans, JSON alone', () => {
  const one = (span: object): Span | undefined =>
    decodeScanned(
      utf8(stringifyJson({ resourceSpans: [{ scopeSpans: [{ spans: [{ ...spanJson(emptySpan), ...span }] }] }] })),
      'application/json',
    )[0]
  const attribute = (value: string): Json | undefined => {
    const body = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${emptySpan.traceId}","spanId":"${emptySpan.spanId}","attributes":[{"key":"a","value":${value}}]}]}]}]}`
    return decodeScanned(utf8(body), 'application/json')[0]?.attributes['a']
  }

  it('takes 64-bit integers as numbers and as texts, exact', () => {
    expect(attribute('{"intValue":9007199254740993}')).to.equal(9_007_199_254_740_993n)
    expect(attribute('{"intValue":"9007199254740993"}')).to.equal(9_007_199_254_740_993n)
    expect(attribute('{"intValue":-9223372036854775808}')).to.equal(-9_223_372_036_854_775_808n)
    expect(attribute('{"intValue":"18446744073709551615"}')).to.equal(18_446_744_073_709_551_615n)
    expect(attribute('{"intValue":9007199254740991}')).to.equal(9_007_199_254_740_991)
    expect(attribute('{"intValue":"-5"}')).to.equal(-5)
    expect(attribute('{"intValue":0}')).to.equal(0)
    const exact = one({ startTimeUnixNano: 1_795_240_001_079_262_377n, endTimeUnixNano: '1795240001079262378' })
    expect([exact?.startNs, exact?.endNs]).to.deep.equal([1_795_240_001_079_262_377n, 1_795_240_001_079_262_378n])
  })

  it('takes odd values for what they can be, and never fails', () => {
    expect(attribute('{"intValue":"12345678901234567890123"}')).to.equal('12345678901234567890123')
    expect(attribute('{"intValue":"x"}')).to.equal('x')
    expect(attribute('{"intValue":1.5}')).to.equal(1.5)
    expect(attribute('{"doubleValue":1e400}')).to.equal('1e400')
    expect(attribute('{"doubleValue":"NaN"}')).to.equal('NaN')
    expect(attribute('{"doubleValue":"-Infinity"}')).to.equal('-Infinity')
    expect(attribute('{"doubleValue":"2.5"}')).to.equal(2.5)
    expect(attribute('{"doubleValue":""}')).to.equal('')
    expect(attribute('{"intValue":1e300}')).to.equal(1e300)
    expect(attribute('{"boolValue":"true"}')).to.equal(true)
    expect(attribute('{"doubleValue":9007199254740993}')).to.equal(9_007_199_254_740_992)
    expect(attribute('{"bytesValue":"-_8"}')).to.equal('+/8=')
    expect(attribute('{"stringValue":null,"intValue":1}')).to.equal(1)
    expect(attribute('{"stringValue":["x"]}')).to.equal('')
    expect(attribute('{"stringValue":-1.5}')).to.equal('-1.5')
    expect(attribute('{"stringValue":9007199254740993}')).to.equal('9007199254740993')
    expect(attribute('{"arrayValue":{}}')).to.deep.equal([])
    expect(attribute('{"arrayValue":{"values":[null,{"boolValue":true}]}}')).to.deep.equal([null, true])
    expect(attribute('{"kvlistValue":7}')).to.deep.equal({})
    expect(attribute('null')).to.equal(null)
    expect(attribute('{"unknownValue":1}')).to.equal(null)
    expect(attribute(String.raw`{"stringValue":"\ud800x"}`)).to.equal('\ufffdx')
  })

  it('takes a number of any length, and keeps the digits of one that nothing holds', () => {
    const long = '9'.repeat(1_001)
    const million = '-' + '9'.repeat(1_000_000)
    expect(attribute(`{"intValue":${'9'.repeat(1_000)}}`)).to.equal('9'.repeat(1_000))
    for (const digits of [long, million]) {
      expect(attribute(`{"intValue":${digits}}`)).to.equal(digits)
      expect(attribute(`{"doubleValue":${digits}}`)).to.equal(digits)
      expect(attribute(`{"stringValue":${digits}}`)).to.equal(digits)
    }
    expect(attribute(`{"doubleValue":0.${long}}`)).to.equal(1)
    expect(attribute(`{"doubleValue":1e${'0'.repeat(1_000)}1}`)).to.equal(10)
    const raw = (members: string) => {
      const { traceId, spanId } = emptySpan
      const span = `{"traceId":"${traceId}","spanId":"${spanId}",${members}}`
      return decodeScanned(utf8(`{"resourceSpans":[{"scopeSpans":[{"spans":[${span}]}]}]}`), 'application/json')[0]
    }
    const odd = raw(`"name":${long},"kind":${long},"flags":${long},"startTimeUnixNano":${long},"unknown":${long}`)
    expect(odd).to.include({ name: long, kind: 'unspecified', flags: 0, startNs: 0n })
    const deep = `${'{"kvlistValue":{"values":[{"key":"k","value":'.repeat(100)}${long}${'}]}}'.repeat(100)}`
    expect(raw(`"name":"x","attributes":[{"key":"deep","value":${deep}}]`)?.cuts).to.deep.equal([
      'attribute deep cut at depth 32',
    ])
  })

  it('takes deep nesting beside integers that take a parser which recurses', () => {
    const { traceId, spanId } = emptySpan
    const body = (levels: number, integer: string): Uint8Array => {
      const open = '{"kvlistValue":{"values":[{"key":"i[n\\"","value":'.repeat(levels)
      const deep = `${open}{"intValue":${integer}}${'}]}}'.repeat(levels)}`
      const attributes = `[{"key":"deep","value":${deep}},{"key":"a","value":{"intValue":${integer}}}]`
      return utf8(
        `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${traceId}","spanId":"${spanId}","attributes":${attributes}}]}]}]}`,
      )
    }
    const expected = decodeScanned(body(60, '9007199254740993'), 'application/json')
    expect(expected[0]?.cuts).to.deep.equal(['attribute deep cut at depth 32'])
    expect(expected[0]?.attributes['a']).to.equal(9_007_199_254_740_993n)
    for (const levels of [65, 600, 2_400]) {
      expect(decodeScanned(body(levels, '9007199254740993'), 'application/json')).to.deep.equal(expected)
      expect(decodeScanned(body(levels, '"9007199254740993"'), 'application/json')).to.deep.equal(expected)
    }
  })

  it('takes enums by number and by name, and absent fields in every form', () => {
    expect(one({ kind: 'SPAN_KIND_SERVER' })?.kind).to.equal('server')
    expect(one({ kind: '3' })?.kind).to.equal('client')
    expect(one({ kind: 'SPAN_KIND_LATER' })?.kind).to.equal('unspecified')
    expect(one({ kind: 6 })?.kind).to.equal('unspecified')
    expect(one({ status: { code: 'STATUS_CODE_ERROR' } })?.status.code).to.equal('error')
    expect(one({ status: null })?.status).to.deep.equal({ code: 'unset', message: '' })
    const odd = one({
      name: null,
      attributes: {},
      events: 'x',
      links: [7],
      flags: 'x',
      startTimeUnixNano: '-5',
      endTimeUnixNano: null,
    })
    expect(odd).to.deep.include({ name: '', spanEvents: [], flags: 0, startNs: 0n, endNs: 0n })
    expect(odd?.links).to.have.length(1)
    for (const droppedAttributesCount of [-1, 2 ** 32, '-1'])
      expect(one({ droppedAttributesCount })?.droppedAttributesCount).to.equal(0)
  })

  it('replaces bytes that are not UTF-8, and keeps the batch', () => {
    const text = Buffer.from(encodeJson(requestOf([{ ...emptySpan, name: 'a@b' }])))
    text[text.indexOf('@')] = 0xff
    expect(decodeScanned(text, 'application/json')[0]?.name).to.equal('a\ufffdb')
  })

  it('takes no spans from lists that it does not know', () => {
    const group = { scope: {}, spans: [spanJson(emptySpan)] }
    const body = utf8(JSON.stringify({ resourceSpans: [{ otherSpans: [group], scopeSpans: [group] }] }))
    expect(decodeScanned(body, 'application/json')).to.have.length(1)
  })

  it('takes the scope of old senders', () => {
    const group = { instrumentationLibrary: { name: 'old', version: '0.1' }, spans: [spanJson(emptySpan)] }
    const body = utf8(JSON.stringify({ resourceSpans: [{ instrumentationLibrarySpans: [group] }] }))
    expect(decodeScanned(body, 'application/json')[0]?.scope).to.deep.include({ name: 'old', version: '0.1' })
  })

  it('takes a request of many megabytes as it takes its spans one by one', () => {
    const { request } = makeTraces({ seed: 7, traces: 200, spansPerTrace: 40 })
    const spans = request.flatMap((resource) =>
      resource.scopes.flatMap((scope) =>
        scope.spans.map((span) => ({ ...resource, scopes: [{ ...scope, spans: [span] }] })),
      ),
    )
    const whole = utf8(encodeJson(request))
    expect(whole.length).to.be.above(5_000_000)
    const one = spans.flatMap((alone) => decodeScanned(utf8(encodeJson([alone])), 'application/json'))
    expect(one).to.have.length(8_000)
    expect(decodeScanned(whole, 'application/json')).to.deep.equal(one)
  })

  it('takes a request of many megabytes in few spans, large beside them, or with none', () => {
    const text = 'words '.repeat(400_000)
    const attributes = [{ key: 'text', value: { stringValue: text } }]
    const spans = Array.from({ length: 3 }, () => ({ ...spanJson(emptySpan), attributes }))
    const body = (resource: object, of: readonly object[]): Uint8Array =>
      utf8(stringifyJson({ resourceSpans: [{ resource, scopeSpans: [{ spans: of }, { spans: null }] }] }))
    const [fewer, beside] = [body({}, spans), body({ attributes: [...attributes, ...attributes] }, spans)]
    for (const large of [fewer, beside]) {
      expect(large.length).to.be.above(5_000_000)
      const [first, ...others] = decodeScanned(large, 'application/json')
      expect(String(first?.attributes['text']).length).to.be.within(limits.recordBytesMax - 100, limits.recordBytesMax)
      expect(others).to.deep.equal([first, first])
    }
    expect(
      decodeScanned(body({ attributes: [...attributes, ...attributes, ...attributes] }, []), 'application/json'),
    ).to.have.length(0)
  })
})
