import { expect } from 'chai'
import { parseDurationNs } from '#src/events/quantity.ts'
import { parseTimeNs } from '#src/events/point-in-time.ts'
import { rangeAnswer, resolveRange } from '#src/query/time-range.ts'

const nowMs = Date.UTC(2026, 10, 21, 12)
const now = BigInt(nowMs) * 1_000_000n

describe('times in query strings', () => {
  const times: readonly (readonly [string, bigint | undefined])[] = [
    ['2026-11-21T12:00:00Z', now],
    ['2026-11-21T12:00:00.000000001Z', now + 1n],
    ['2026-11-21T13:00:00+01:00', now],
    ['2026-11-21T13:00:00 01:00', now],
    ['2026-11-21', now - 43_200_000_000_000n],
    // As pages show times, and as people type them: UTC.
    ['2026-11-21 12:00:00.001', now + 1_000_000n],
    ['2026-11-21 12:00', now],
    ['2026-11-21 12:00 UTC', now],
    ['2026-11-21T12:00:00', now],
    ['2026-11-21 00:00', now - 43_200_000_000_000n],
    ['2026-11-21 25:00', undefined],
    ['2026-11-21T13:00+01:00', now],
    ['2026-11-21T13:00 01:00', now],
    ['2026-11-21T12:00Z', now],
    ['2026-11-21 12:00z', now],
    ['2026-11-21T12:00:00.0000000000000000000000009Z', now],
    ['2026-11-21Z', undefined],
    ['2026-11-21 12', undefined],
    ['1795262400', now],
    ['1795262400.5', now + 500_000_000n],
    ['1795262400000', now],
    ['99999999999', 99_999_999_999_000_000_000n],
    ['100000000000', 100_000_000_000_000_000n],
    ['99999999999999', 99_999_999_999_999_000_000n],
    ['100000000000000', 100_000_000_000_000_000n],
    ['1795262400000000', now],
    ['99999999999999999', 99_999_999_999_999_999_000n],
    ['100000000000000000', 100_000_000_000_000_000n],
    ['1795262400000000001', now + 1n],
    ['0', 0n],
    ['-1', -1_000_000_000n],
    ['now', now],
    ['15m', now - 900_000_000_000n],
    ['-1h', now - 3_600_000_000_000n],
    ['now-2d', now - 172_800_000_000_000n],
    ['now+1h', now + 3_600_000_000_000n],
    ['now 1h', now + 3_600_000_000_000n],
    ['+1h', now + 3_600_000_000_000n],
    [' 1h', undefined],
    [' -1h', now - 3_600_000_000_000n],
    [' 2026-11-21T12:00Z', now],
    ['1.5h', now - 5_400_000_000_000n],
    ['yesterday', undefined],
    ['2026-13-01T00:00:00Z', undefined],
    ['1h30m', now - 5_400_000_000_000n],
    ['1h30', undefined],
    ['9999-12-31T23:59:59.999999999Z', 253_402_300_799_999_999_999n],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000_000_000n],
    ['0000-12-31T23:59:59Z', undefined],
    ['now-999999999w', undefined],
    ['+999999999w', undefined],
    ['-99999999999', undefined],
    ['', undefined],
    ['9'.repeat(25), undefined],
  ]
  for (const [text, expected] of times) {
    it(`${JSON.stringify(text)} is ${expected ?? 'refused'}`, () => expect(parseTimeNs(text, nowMs)).to.equal(expected))
  }
})

describe('durations', () => {
  const durations: readonly (readonly [string, bigint | undefined])[] = [
    ['200ms', 200_000_000n],
    ['1.5s', 1_500_000_000n],
    ['7us', 7_000n],
    ['7µs', 7_000n],
    ['12ns', 12n],
    ['0.000000001s', 1n],
    ['200', undefined],
    ['ms', undefined],
    ['1.5', undefined],
    ['-1s', undefined],
    ['1h30m', 5_400_000_000_000n],
    ['1.5ns', 1n],
    ['10kb', undefined],
  ]
  for (const [text, expected] of durations) {
    it(`${JSON.stringify(text)} is ${expected ?? 'refused'}`, () => expect(parseDurationNs(text)).to.equal(expected))
  }
})

describe('time ranges', () => {
  const resolved = (from: string | undefined, to: string | undefined, byId = false): unknown => {
    const range = resolveRange({ from, to }, byId, nowMs)
    return range.ok ? rangeAnswer(range.value) : range.error.errors
  }

  it('cover the day before their end, unless an id is looked for', () => {
    expect(resolved(undefined, undefined)).to.deep.equal({ from: '2026-11-20T12:00:00.000000000Z', to: null })
    expect(resolved(undefined, '2026-11-10')).to.deep.equal({
      from: '2026-11-09T00:00:00.000000000Z',
      to: '2026-11-10T00:00:00.000000000Z',
    })
    expect(resolved(undefined, undefined, true)).to.deep.equal({ from: null, to: null })
    expect(resolved(undefined, '2026-11-10', true)).to.deep.equal({ from: null, to: '2026-11-10T00:00:00.000000000Z' })
    expect(resolved('1h', undefined, true)).to.deep.equal({ from: '2026-11-21T11:00:00.000000000Z', to: null })
  })

  it('name the bound that is no time, and one that is after the other', () => {
    expect(resolved('soon', undefined)).to.have.nested.property('[0].path', 'from')
    expect(resolved('1h', 'soon')).to.have.nested.property('[0].path', 'to')
    expect(resolved('1h', '2h')).to.deep.equal([{ path: 'from', message: 'is after to' }])
    expect(resolved('1h', '1h')).to.have.property('from', '2026-11-21T11:00:00.000000000Z')
  })
})
