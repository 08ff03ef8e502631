import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { bytesField, emptySpan, encodeSpan, fixed64Field, message, textField, varintField } from '#test/support/otlp.ts'
import { decodeScanned } from './decode-scanned.ts'

describe('decodeSpans, protobuf alone', () => {
  const inRequest = (span: Uint8Array, ...scopeFields: Parameters<typeof message>[1]): Uint8Array =>
    message('given', [
      bytesField(1, message('given', [bytesField(2, message('given', [...scopeFields, bytesField(2, span)]))])),
    ])
  const value = (key: string, ...parts: Uint8Array[]): Uint8Array =>
    message('given', [
      bytesField(9, message('given', [textField(1, key), ...parts.map((part) => bytesField(2, part))])),
    ])
  const text = (of: string): Uint8Array => message('given', [textField(1, of)])
  const list = (...of: string[]): Uint8Array =>
    message('given', [
      bytesField(
        5,
        message(
          'given',
          of.map((item) => bytesField(1, text(item))),
        ),
      ),
    ])

  const map = (key: string, of: string): Uint8Array => {
    const entry = message('given', [textField(1, key), bytesField(2, text(of))])
    return message('given', [bytesField(6, message('given', [bytesField(1, entry)]))])
  }

  it('replaces what is not UTF-8, and keeps the batch', () => {
    const bad = Uint8Array.of(0x61, 0xff, 0x62, 0xc3)
    const span = Buffer.concat([
      encodeSpan({ ...emptySpan, attributes: [['bad', { utf8: bad }]] }),
      message('given', [bytesField(5, bad), bytesField(3, Uint8Array.of(0xed, 0xa0, 0x80))]),
    ])
    const [found] = decodeScanned(inRequest(span), 'application/x-protobuf')
    expect([found?.name, found?.attributes['bad']]).to.deep.equal(['a\ufffdb\ufffd', 'a\ufffdb\ufffd'])
    expect(found?.traceState).to.equal('\ufffd\ufffd\ufffd')
  })

  it('merges fields that are repeated, as protobuf does', () => {
    const span = Buffer.concat([
      encodeSpan({ ...emptySpan, statusMessage: 'first' }),
      message('given', [
        textField(5, 'last'),
        fixed64Field(7, 5n),
        bytesField(15, message('given', [varintField(3, 2)])),
      ]),
      value('last of a oneof', list('a'), text('b')),
      value('lists in a row', list('a'), list('b', 'c')),
      value('a list anew', list('a'), text('b'), list('c')),
      value('maps in a row', map('a', 'x'), map('b', 'y')),
      value('a map anew', text('a'), map('b', 'y')),
    ])
    const scope = (field: Parameters<typeof message>[1][number]) => bytesField(1, message('given', [field]))
    const body = inRequest(span, scope(textField(1, 'named')), scope(textField(2, '1.2')))
    const [found] = decodeScanned(body, 'application/x-protobuf')
    expect([found?.name, found?.startNs]).to.deep.equal(['last', 5n])
    expect(found?.status).to.deep.equal({ code: 'error', message: 'first' })
    expect({ ...found?.attributes }).to.deep.equal({
      'last of a oneof': 'b',
      'lists in a row': ['a', 'b', 'c'],
      'a list anew': ['c'],
      'maps in a row': { a: 'x', b: 'y' },
      'a map anew': { b: 'y' },
    })
    expect(found?.scope).to.deep.include({ name: 'named', version: '1.2' })
  })

  it('steps over unknown fields of every wire type, wherever in a value they stand', () => {
    const fixed64 = Buffer.from([0x89, 0x06, 1, 2, 3, 4, 5, 6, 7, 8])
    const group = Buffer.from([0xa3, 0x06, 0x08, 0x01, 0xa4, 0x06])
    const strange = [varintField(99, 1n), textField(98, 'x'), [100, group] as const, [97, fixed64] as const]
    const beside = (...fields: Parameters<typeof message>[1]): Uint8Array =>
      message('given', [...strange, ...fields, ...strange])
    const pair = (key: string, of: Uint8Array): Uint8Array => beside(textField(1, key), bytesField(2, of))
    const inner = beside(textField(1, 'inner'))
    const span = Buffer.concat([
      encodeSpan(emptySpan),
      message('given', [
        bytesField(9, pair('list', beside(bytesField(5, beside(bytesField(1, inner)))))),
        bytesField(9, pair('map', beside(bytesField(6, beside(bytesField(1, pair('key', inner))))))),
      ]),
    ])
    const [found] = decodeScanned(inRequest(span), 'application/x-protobuf')
    expect({ ...found?.attributes }).to.deep.equal({ list: ['inner'], map: { key: 'inner' } })
  })

  it('takes a parent id that is there and empty for none, as protobuf does', () => {
    const span = Buffer.concat([encodeSpan(emptySpan), message('given', [bytesField(4, new Uint8Array())])])
    const [found] = decodeScanned(inRequest(span), 'application/x-protobuf')
    expect([found?.parentSpanId, found?.cuts]).to.deep.equal([null, []])
  })

  it('marks no parent id as left out whose length is written in more bytes than it needs', () => {
    const parent = Buffer.from('00f067aa0ba902b7', 'hex')
    const withParent = (id: Uint8Array): Uint8Array =>
      Buffer.concat([encodeSpan(emptySpan), Uint8Array.of(0x22, 0x80 | id.length, 0x80, 0x80, 0x00), id])
    const parentsAndCuts = (id: Uint8Array) =>
      decodeScanned(inRequest(withParent(id)), 'application/x-protobuf').map((span) => [span.parentSpanId, span.cuts])
    expect(parentsAndCuts(parent)).to.deep.equal([['00f067aa0ba902b7', []]])
    expect(parentsAndCuts(new Uint8Array(8))).to.deep.equal([[null, []]])
    expect(parentsAndCuts(new Uint8Array())).to.deep.equal([[null, []]])
    expect(parentsAndCuts(parent.subarray(4))).to.deep.equal([[null, ['parent span id left out, it is not 8 bytes']]])
  })

  it('does not look below the deepest level, whatever stands there', () => {
    const nest = (levels: number): Uint8Array =>
      levels === 1
        ? Uint8Array.of(0x0f, 0xff)
        : message('given', [bytesField(5, message('given', [bytesField(1, nest(levels - 1))]))])
    const span = Buffer.concat([encodeSpan(emptySpan), value('deep', nest(2_000))])
    const [found] = decodeScanned(inRequest(span), 'application/x-protobuf')
    expect(found?.cuts).to.deep.equal(['attribute deep cut at depth 32'])
  })

  it('throws on bytes that the scanner refuses, instead of reading beyond a message', () => {
    const body = inRequest(Buffer.concat([encodeSpan(emptySpan), Uint8Array.of(0x2a, 0x7f)]))
    expect(() => decodeSpans(body, 'application/x-protobuf', limits)).to.throw()
  })
})
