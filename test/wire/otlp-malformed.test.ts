import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { OtlpContentType } from '#src/wire/otlp/content-type.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'
import {
  bytesField,
  emptySpan,
  encodeJson,
  encodeProtobuf,
  encodeSpan,
  message,
  requestOf,
  utf8,
} from '#test/support/otlp.ts'

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'))
const inSpan = (bytes: Uint8Array): Uint8Array => {
  const span = Buffer.concat([encodeSpan(emptySpan), bytes])
  const scope = message('given', [bytesField(2, span)])
  return message('given', [bytesField(1, message('given', [bytesField(2, scope)]))])
}

function refusalOf(body: Uint8Array, contentType: OtlpContentType): readonly [string, string] {
  const scan = scanSpans(body, contentType, limits)
  return scan.ok ? ['accepted', ''] : [scan.error.code, scan.error.detail]
}

describe('malformed OTLP protobuf', () => {
  const wholeBody = encodeProtobuf(requestOf([emptySpan]))
  const overlong = 'ff ff ff ff ff ff ff ff ff ff 01'
  const rows: readonly (readonly [name: string, body: Uint8Array, detail: string])[] = [
    ['JSON sent as protobuf', utf8('{"resourceSpans":[]}'), 'looks like JSON'],
    ['HTML sent as protobuf', utf8('<!doctype html><html></html>'), ''],
    ['field 0', hex('02 00'), 'field 0'],
    ['field 0 in a span', inSpan(hex('00 00')), 'field 0'],
    ['wire type 6', hex('0e'), 'wire type 6'],
    ['wire type 7', hex('0f'), 'wire type 7'],
    ['wire type 6 of an unknown field of two bytes', inSpan(hex('86 08')), 'wire type 6'],
    ['a known field with another wire type', hex('08 01'), 'wire type 0'],
    ['the name of a span as a number', inSpan(hex('28 01')), 'wire type 0'],
    ['a length beyond the end', hex('0a 05 00'), 'cut short'],
    ['a length beyond its own message', inSpan(hex('2a 20')), 'cut short'],
    ['a huge length', hex('0a ff ff ff ff 07'), 'cut short'],
    ['a length of more than 32 bits', hex('0a ff ff ff ff 0f'), 'too long'],
    ['a tag of more than 32 bits', hex('ff ff ff ff 1f'), 'too long'],
    ['a varint of eleven bytes', inSpan(hex(`30 ${overlong}`)), 'too long'],
    ['a varint of ten bytes that holds more than 64 bits', inSpan(hex('30 ff ff ff ff ff ff ff ff ff 02')), 'too long'],
    ['a varint that does not end', inSpan(hex('30 ff')), 'cut short'],
    ['a tag that does not end', hex('80'), 'cut short'],
    ['a fixed64 cut short', inSpan(hex('39 00 00')), 'cut short'],
    ['a fixed32 cut short', inSpan(hex('85 01 00')), 'cut short'],
    ['a group that does not end', inSpan(hex('a3 06 08 01')), 'a group does not end'],
    ['a group that ends as another', inSpan(hex('a3 06 ac 06')), 'did not begin'],
    ['the end of no group', inSpan(hex('a4 06')), 'wire type 4'],
    ['groups in groups without end', inSpan(hex('a3 06'.repeat(200))), 'nested too deep'],
    ['a group that holds field 0', inSpan(hex('a3 06 00 00 a4 06')), 'field 0'],
    ['a group that holds a length beyond the end', inSpan(hex('a3 06 0a 7f a4 06')), 'cut short'],
    ['an attribute cut short', inSpan(hex('4a 05 0a 01 61 12 09')), 'cut short'],
    ['a value longer than its attribute', inSpan(hex('4a 07 0a 01 61 12 05 0a 03')), 'cut short'],
    ['rubbish behind the value of an attribute', inSpan(hex('4a 09 0a 01 61 12 02 0a 00 0e 0e')), 'wire type 6'],
    ['a number of an attribute that does not end', inSpan(hex('4a 08 0a 01 61 12 03 18 80 80')), 'cut short'],
    ['a value of an attribute cut short', inSpan(hex('4a 07 0a 01 61 12 02 0a 05')), 'cut short'],
    ['a value of an attribute that ends behind its tag', inSpan(hex('4a 06 0a 01 61 12 01 10')), 'cut short'],
  ]
  for (const [name, body, detail] of rows) {
    it(`refuses ${name}`, () => {
      const [code, said] = refusalOf(body, 'application/x-protobuf')
      expect(code).to.equal('invalid_body')
      expect(said).to.contain(detail)
    })
  }

  it('refuses every body that is cut short', () => {
    for (let end = 1; end < wholeBody.length; end++) {
      expect(refusalOf(wholeBody.subarray(0, end), 'application/x-protobuf')[0], `at ${end}`).to.equal('invalid_body')
    }
  })

  it('looks at values as deep as they are decoded, and no deeper', () => {
    const broken = hex('0a 05')
    const nested = (depth: number): Uint8Array =>
      depth === 1 ? broken : message('given', [bytesField(5, message('given', [bytesField(1, nested(depth - 1))]))])
    const bodyOf = (depth: number): Uint8Array => {
      const attribute = message('given', [bytesField(1, utf8('a')), bytesField(2, nested(depth))])
      return inSpan(message('given', [bytesField(9, attribute)]))
    }
    const { nestingDepthMax } = limits
    expect(refusalOf(bodyOf(nestingDepthMax), 'application/x-protobuf')[1]).to.contain('cut short')
    const deeper = bodyOf(nestingDepthMax + 1)
    expect(refusalOf(deeper, 'application/x-protobuf')[0]).to.equal('accepted')
    expect(decodeSpans(deeper, 'application/x-protobuf', limits)[0]?.cuts.join()).to.contain('cut at depth')
  })

  it('takes a varint of ten bytes', () => {
    const body = inSpan(hex('30 ff ff ff ff ff ff ff ff ff 01'))
    expect(refusalOf(body, 'application/x-protobuf')[0]).to.equal('accepted')
    expect(decodeSpans(body, 'application/x-protobuf', limits)[0]?.kind).to.equal('unspecified')
  })
})

describe('malformed OTLP JSON', () => {
  const whole = encodeJson(requestOf([{ ...emptySpan, name: 'né "x" \\ \u{1f600}' }]))
  const rows: readonly (readonly [name: string, text: string | Uint8Array, detail: string])[] = [
    ['protobuf sent as JSON', encodeProtobuf(requestOf([emptySpan])), 'expected an object'],
    ['a list', '[]', 'expected an object'],
    ['a number', '1', 'expected an object'],
    ['null', 'null', 'expected an object'],
    ['two objects', '{}{}', 'unexpected text'],
    ['a comment', '{/**/}', 'a name is missing'],
    ['a trailing comma in an object', '{"a":1,}', 'a name is missing'],
    ['a trailing comma in a list', '{"a":[1,]}', 'malformed'],
    ['a missing comma', '{"a":1 "b":2}', 'a comma'],
    ['a missing comma in a list', '{"a":[1 2]}', 'a comma'],
    ['a missing colon', '{"a" 1}', 'a colon'],
    ['a missing value', '{"a":}', 'malformed'],
    ['a name without quotes', '{a:1}', 'a name is missing'],
    ['single quotes', "{'a':1}", 'a name is missing'],
    ['an unknown word', '{"a":nul}', 'malformed'],
    ['NaN', '{"a":NaN}', 'malformed'],
    ['a leading zero', '{"a":01}', 'a comma'],
    ['a leading plus', '{"a":+1}', 'malformed'],
    ['a bare minus', '{"a":-}', 'malformed'],
    ['a number that ends in a point', '{"a":1.}', 'malformed'],
    ['an exponent without digits', '{"a":1e}', 'malformed'],
    ['a control character in a string', '{"a":"\u0001"}', 'malformed'],
    ['a line end in a string', '{"a":"\n"}', 'malformed'],
    ['an unknown escape', String.raw`{"a":"\x41"}`, 'malformed'],
    ['an escape cut short', String.raw`{"a":"\u00"}`, 'malformed'],
    ['a string that does not end', '{"a":"x', 'malformed'],
    ['a string that ends in a backslash', String.raw`{"a":"x\"`, 'malformed'],
    ['a NUL between values', '{"a":1\u0000}', 'a comma'],
    ['a no-break space between values', '{"a":\u00a01}', 'malformed'],
    ['resourceSpans that is an object', '{"resourceSpans":{}}', 'expected a list'],
    ['resourceSpans that is a text', '{"resourceSpans":"x"}', 'expected a list'],
    ['spans that is a number', '{"resourceSpans":[{"scopeSpans":[{"spans":1}]}]}', 'expected a list'],
    ['a group that is a list', '{"resourceSpans":[[]]}', 'expected an object'],
    ['a group that is null', '{"resourceSpans":[null]}', 'expected an object'],
    ['a scope group that is a text', '{"resourceSpans":[{"scopeSpans":["x"]}]}', 'expected an object'],
    ['a list that is given twice', '{"resourceSpans":[],"resourceSpans":[]}', 'given twice'],
    ['spans that are given twice', '{"resourceSpans":[{"scopeSpans":[{"spans":[],"spans":[]}]}]}', 'given twice'],
  ]
  for (const [name, text, detail] of rows) {
    it(`refuses ${name}`, () => {
      const [code, said] = refusalOf(typeof text === 'string' ? utf8(text) : text, 'application/json')
      expect(code).to.equal('invalid_body')
      expect(said).to.contain(detail)
    })
  }

  it('refuses every body that is cut short', () => {
    const bytes = utf8(whole)
    for (let end = 1; end < bytes.length; end++) {
      expect(refusalOf(bytes.subarray(0, end), 'application/json')[0], `at ${end}`).to.equal('invalid_body')
    }
    expect(refusalOf(bytes, 'application/json')[0]).to.equal('accepted')
  })

  it('steps over deep nesting, and refuses what is too deep for that, or broken there', () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const nested = (depth: number): string => `{"a":${open.repeat(depth)}1${close.repeat(depth)}}`
      for (const depth of [255, 256, 257, 1_000, 10_000]) {
        expect(refusalOf(utf8(nested(depth)), 'application/json')[0], `${depth} levels`).to.equal('accepted')
        expect(decodeSpans(utf8(nested(depth)), 'application/json', limits)).to.deep.equal([])
      }
      for (const depth of [257, 1_000, 100_000, 1_000_000]) {
        const half = nested(depth).slice(0, nested(depth).length / 2)
        expect(refusalOf(utf8(half), 'application/json')[0]).to.equal('invalid_body')
        expect(refusalOf(utf8(nested(depth).replace('1', '01')), 'application/json')[0]).to.equal('invalid_body')
      }
      for (const depth of [11_000, 100_000, 1_000_000]) {
        expect(refusalOf(utf8(nested(depth)), 'application/json')[1]).to.contain('nested deeper than 10000')
      }
    }
  })
})
