import { expect } from 'chai'
import { formatTimeNs, parseRfc3339Ns } from '#src/lib/time.ts'

describe('time', () => {
  const pairs: readonly (readonly [string, bigint])[] = [
    ['1970-01-01T00:00:00.000000000Z', 0n],
    ['1969-12-31T23:59:59.999999999Z', -1n],
    ['2026-11-21T07:57:00.123456789Z', 1_795_247_820_123_456_789n],
    ['2262-04-11T23:47:16.854775807Z', 9_223_372_036_854_775_807n],
    ['1677-09-21T00:12:43.145224192Z', -9_223_372_036_854_775_808n],
    ['2554-07-21T23:34:33.709551615Z', 18_446_744_073_709_551_615n],
  ]

  for (const [text, ns] of pairs) {
    it(`writes and reads ${text}`, () => {
      expect(formatTimeNs(ns)).to.equal(text)
      expect(parseRfc3339Ns(text)).to.equal(ns)
    })
  }

  it('reads every form of RFC 3339', () => {
    const ns = parseRfc3339Ns('2026-11-21T07:57:00Z')
    for (const text of [
      '2026-11-21t07:57:00z',
      '2026-11-21 07:57:00Z',
      '2026-11-21T09:27:00+01:30',
      '2026-11-20T23:57:00-08:00',
      '2026-11-21T07:57:00.0Z',
      '2026-11-21T07:57:00.0000000009Z',
    ]) {
      expect(parseRfc3339Ns(text), text).to.equal(ns)
    }
    expect(parseRfc3339Ns('2016-12-31T23:59:60Z')).to.equal(parseRfc3339Ns('2017-01-01T00:00:00Z'))
    expect(parseRfc3339Ns('0001-01-01T00:00:00Z')).to.equal(-62_135_596_800_000_000_000n)
  })

  it('takes nothing else', () => {
    for (const text of [
      '',
      'now',
      '2026-11-21',
      '2026-11-21T07:57:00',
      '2026-02-30T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-11-21T24:00:00Z',
      '2026-11-21T07:60:00Z',
      '2026-11-21T07:57:61Z',
      '2026-11-21T07:57:00+24:00',
      '2026-11-21T07:57:00.Z',
    ]) {
      expect(parseRfc3339Ns(text), text).to.equal(undefined)
    }
  })
})
