import { expect } from 'chai'
import { parseDurationNs, parseTimeNs } from '#src/query/time-range.ts'

const nowMs = Date.UTC(2026, 10, 21, 12)
const now = BigInt(nowMs) * 1_000_000n

describe('times in query strings', () => {
  const times: readonly (readonly [string, bigint | undefined])[] = [
    ['2026-11-21T12:00:00Z', now],
    ['2026-11-21T12:00:00.000000001Z', now + 1n],
    ['2026-11-21T13:00:00+01:00', now],
    ['2026-11-21T13:00:00 01:00', now],
    ['2026-11-21', now - 43_200_000_000_000n],
    ['1795262400', now],
    ['1795262400.5', now + 500_000_000n],
    ['1795262400000', now],
    ['1795262400000000', now],
    ['1795262400000000001', now + 1n],
    ['0', 0n],
    ['-1', -1_000_000_000n],
    ['now', now],
    ['15m', now - 900_000_000_000n],
    ['-1h', now - 3_600_000_000_000n],
    ['now-2d', now - 172_800_000_000_000n],
    ['now+1h', now + 3_600_000_000_000n],
    ['now 1h', now + 3_600_000_000_000n],
    ['1.5h', now - 5_400_000_000_000n],
    ['yesterday', undefined],
    ['2026-13-01T00:00:00Z', undefined],
    ['1h30', undefined],
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
  ]
  for (const [text, expected] of durations) {
    it(`${JSON.stringify(text)} is ${expected ?? 'refused'}`, () => expect(parseDurationNs(text)).to.equal(expected))
  }
})
