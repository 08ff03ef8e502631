import { encode, ExtData } from '@msgpack/msgpack'
import { expect } from 'chai'
import type { Json } from '#src/lib/json.ts'
import { createMsgpackReader } from '#src/wire/logs/msgpack.ts'
import { createMsgpackValues } from '#src/wire/logs/msgpack-values.ts'

function decode(bytes: Uint8Array): Json {
  const reader = createMsgpackReader(bytes)
  expect(reader.value(0)).to.equal(bytes.length)
  return createMsgpackValues(bytes, reader).decode(0)
}

const round = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('MessagePack values', () => {
  it('come back as they were sent, every length and width', () => {
    const lengths = [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536]
    const values: unknown[] = [
      null, true, false, 0, 127, 128, 255, 256, 65_535, 65_536, 4_294_967_295, -1, -32, -33, -128, -129, -32_768, -32_769,
      -2_147_483_648, 1.5, -0.1, 1e300, 2 ** 40, 'é😀', [], {}, [[[{}]]],
      ...lengths.map((length) => 'x'.repeat(length)),
      ...lengths.map((length) => Array.from({ length }, (_unused, index) => index)),
      ...lengths.slice(0, 8).map((length) => Object.fromEntries(Array.from({ length }, (_unused, index) => [`k${index}`, index]))),
    ] // prettier-ignore
    for (const value of values)
      expect(round(decode(encode(value))), JSON.stringify(value).slice(0, 50)).to.deep.equal(value)
    expect(round(decode(encode({ list: values })))).to.deep.equal({ list: values })
  })

  it('are exact integers, bigint only where they must be', () => {
    const exact = [2n ** 64n - 1n, -(2n ** 63n), 9_007_199_254_740_993n, -9_007_199_254_740_993n]
    for (const value of exact) expect(decode(encode(value, { useBigInt64: true }))).to.equal(value)
    expect(decode(encode(5n, { useBigInt64: true }))).to.equal(5)
    expect(decode(Buffer.from([0xd3, 0xff, 0xe0, 0, 0, 0, 0, 0, 1]))).to.equal(-9_007_199_254_740_991)
  })

  it('are JSON-able: bytes, times, extensions, numbers that JSON has no word for', () => {
    expect(decode(encode(new Uint8Array([1, 2, 255])))).to.equal('AQL/')
    expect(decode(encode(new Date('2026-11-21T07:57:00.123Z')))).to.equal('2026-11-21T07:57:00.123000000Z')
    expect(decode(encode(new Date('1969-01-01T00:00:00Z')))).to.equal('1969-01-01T00:00:00.000000000Z')
    expect(decode(encode(new ExtData(5, new Uint8Array([1]))))).to.deep.equal({ ext: 5, data: 'AQ==' })
    expect(decode(encode(new ExtData(-1, new Uint8Array(3))))).to.deep.equal({ ext: -1, data: 'AAAA' })
    for (const value of [Infinity, -Infinity, Number.NaN]) expect(decode(encode(value))).to.equal(String(value))
    const far = Buffer.concat([Buffer.from([0xc7, 12, 0xff]), Buffer.alloc(4), Buffer.alloc(8, 0x7f)])
    expect(decode(far)).to.equal((BigInt(`0x${'7f'.repeat(8)}`) * 1_000_000_000n).toString())
  })

  it('have keys of every kind, as text', () => {
    const pairs: readonly (readonly [unknown, string])[] = [
      ['__proto__', '__proto__'], ['constructor', 'constructor'], [1, '1'], [-5, '-5'], [null, 'null'], [true, 'true'], [1.5, '1.5'],
      [[1, 'x'], '[1,"x"]'],
    ] // prettier-ignore
    const body = Buffer.concat([
      Buffer.from([0x80 + pairs.length]),
      ...pairs.flatMap(([key]) => [encode(key), encode({ p: 1 })]),
    ])
    const map = decode(body) as Record<string, Json>
    expect(Object.keys(map).sort()).to.deep.equal(pairs.map(([, key]) => key).sort())
    expect(Object.getPrototypeOf(map)).to.equal(null)
    expect(({} as Record<string, unknown>)['p']).to.equal(undefined)
  })

  // A record of 64 bytes was too long for any text, and its whole request a dead letter.
  it('may have keys in keys, which are not told twice', () => {
    const nested = (levels: number): Uint8Array =>
      Buffer.from([...Array<number>(levels).fill(0x81), ...encode('a'), ...Array<number>(levels).fill(1)])
    expect(round(decode(nested(1)))).to.deep.equal({ a: 1 })
    expect(round(decode(nested(2)))).to.deep.equal({ '{"a":1}': 1 })
    for (const levels of [3, 30, 250]) expect(round(decode(nested(levels)))).to.deep.equal({ '{"…":1}': 1 })
    const beside = Buffer.concat([Buffer.from([0x81, 0x92]), nested(2), Buffer.from([0x91, 2]), nested(2)])
    expect(round(decode(beside))).to.deep.equal({ '[{"…":1},[2]]': { '{"a":1}': 1 } })
  })

  it('replace bytes that are not UTF-8', () => {
    expect(decode(Buffer.from([0xa3, 0x61, 0xff, 0x62]))).to.equal('a\ufffdb')
  })

  it('are counted, and their depth told', () => {
    const body = encode({ a: [1, { b: [] }] })
    const reader = createMsgpackReader(body)
    expect(reader.value(0)).to.equal(body.length)
    expect([reader.depth(), reader.values()]).to.deep.equal([4, 7])
  })
})
