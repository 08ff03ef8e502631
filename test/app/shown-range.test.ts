import { expect } from 'chai'
import {
  denseRange,
  isZoomed,
  placeIn,
  rangesBeside,
  shownRange,
  sideOf,
  zoomText,
  zoomTo,
  type Range,
} from '#src/app/trace/shown-range.ts'
import { noonNs } from '#test/projections/traces/given.ts'

const rangeOf = (from: number, to: number): Range => ({ startNs: noonNs + BigInt(from), endNs: noonNs + BigInt(to) })
/** Nanoseconds after noon. */
const endsOf = (range: Range | undefined) => range && [Number(range.startNs - noonNs), Number(range.endNs - noonNs)]
const spanOf = (from: number, to: number) => ({
  start: `2026-11-21T12:00:00.${String(from).padStart(9, '0')}Z`,
  duration_ns: String(to - from),
})
const summary = spanOf(0, 1_000_000)
const zoomed = (from: number, to: number) => shownRange(summary, zoomText(rangeOf(from, to)))

describe('the range of time that the page of a trace shows', () => {
  it('is the one of its address, as far as the trace goes', () => {
    expect(endsOf(zoomed(200_000, 300_000).shown)).to.deep.equal([200_000, 300_000])
    expect(endsOf(zoomed(-500_000, 300_000).shown)).to.deep.equal([0, 300_000])
    expect(endsOf(zoomed(900_000, 9_000_000).shown)).to.deep.equal([900_000, 1_000_000])
  })

  it('is the whole trace where the address asks for nothing, for all of it, or for what it has not', () => {
    const refusals = (asked: string): boolean => {
      const range = shownRange(summary, asked)
      expect([isZoomed(range), range.shown === range.whole], asked).to.deep.equal([false, true])
      return range.isRefused
    }
    expect(['', zoomText(rangeOf(0, 1_000_000)), zoomText(rangeOf(-1, 1_000_001))].map(refusals)).to.deep.equal([
      false,
      false,
      false,
    ])
    const backward = `${noonNs + 9n}-${noonNs + 2n}`
    for (const asked of [
      '1',
      '-',
      '1-',
      'a-b',
      '1e3-2e3',
      '-1--2',
      '1-2',
      backward,
      `${'9'.repeat(20)}-${'9'.repeat(20)}`,
    ])
      expect(refusals(asked), asked).to.equal(true)
    expect(refusals(`${'9'.repeat(21)}-1`)).to.equal(true)
  })

  it('is whole for a trace without time', () => {
    for (const none of [spanOf(5, 5), { start: null, duration_ns: null }])
      expect(isZoomed(shownRange(none, zoomText(rangeOf(0, 9)))), none.start ?? 'none').to.equal(false)
  })

  it('is never too short to be looked at, also at the ends of the trace', () => {
    expect(endsOf(zoomed(500, 500).shown)).to.deep.equal([500, 1_500])
    expect(endsOf(zoomed(999_999, 1_000_000).shown)).to.deep.equal([999_000, 1_000_000])
    expect(isZoomed(shownRange(spanOf(0, 900), zoomText(rangeOf(100, 200))))).to.equal(false)
  })

  it('leads to a part of the trace that is neither shown nor all of it', () => {
    const range = zoomed(100_000, 200_000)
    expect(endsOf(zoomTo(range, rangeOf(300_000, 400_000)))).to.deep.equal([300_000, 400_000])
    expect(zoomTo(range, rangeOf(100_000, 200_000))).to.equal(undefined)
    expect(zoomTo(range, rangeOf(-1, 1_000_000))).to.equal(undefined)
  })

  it('has another beside it and around it, as far as the trace goes', () => {
    const beside = (from: number, to: number) => Object.values(rangesBeside(zoomed(from, to))).map(endsOf)
    expect(beside(400_000, 500_000)).to.deep.equal([
      [350_000, 450_000],
      [450_000, 550_000],
      [300_000, 600_000],
    ])
    expect(beside(20_000, 120_000)).to.deep.equal([
      [0, 100_000],
      [70_000, 170_000],
      [0, 220_000],
    ])
    expect(beside(600_000, 1_000_000)).to.deep.equal([[400_000, 800_000], undefined, [200_000, 1_000_000]])
    expect(beside(300_000, 700_000)[2]).to.equal(undefined)
  })

  it('has spans before and after it, and in sight what it cuts, and what takes no time at its ends', () => {
    const range = zoomed(100_000, 200_000)
    const sides = (...spans: readonly (readonly [number, number])[]) =>
      spans.map(([from, to]) => sideOf(range, rangeOf(from, to)))
    expect(sides([0, 50_000], [0, 100_000], [200_000, 300_000], [200_001, 200_001])).to.deep.equal([
      'before',
      'before',
      'after',
      'after',
    ])
    expect(
      sides([0, 1_000_000], [0, 100_001], [199_999, 300_000], [100_000, 100_000], [200_000, 200_000]),
    ).to.deep.equal(Array.from({ length: 5 }))
    expect(sideOf(shownRange(summary, ''), rangeOf(5_000_000, 6_000_000))).to.equal(undefined)
  })

  it('is drawn in thousandths of itself, with what it cuts up to its edges', () => {
    const shown = rangeOf(100_000, 200_000)
    expect(placeIn(shown, rangeOf(120_000, 150_000))).to.deep.equal({ x: 200, width: 300 })
    expect(placeIn(shown, rangeOf(0, 150_000))).to.deep.equal({ x: 0, width: 500 })
    expect(placeIn(shown, rangeOf(150_000, 900_000))).to.deep.equal({ x: 500, width: 500 })
    expect(placeIn(shown, rangeOf(200_000, 200_000))).to.deep.equal({ x: 998, width: 2 })
    expect(placeIn(rangeOf(5, 5), rangeOf(5, 5))).to.deep.equal({ x: 0, width: 1_000 })
  })
})

describe('the range where most spans of a trace are', () => {
  const dense = (whole: Range, ...spans: readonly (readonly [number, number])[]) =>
    endsOf(
      denseRange(
        spans.map(([from, to]) => rangeOf(from, to)),
        whole,
      ),
    )
  const whole = rangeOf(0, 1_000_000)
  const many = (count: number, from: number) =>
    Array.from({ length: count }, (_, n): readonly [number, number] => [from + n * 100, from + n * 100 + 2_000])

  it('leaves out what is far away: one in ten, or one of a few', () => {
    expect(dense(whole, [0, 10], [990_000, 1_000_000], [991_000, 992_000])).to.deep.equal([990_000, 1_000_000])
    expect(dense(whole, ...many(18, 500_000), [0, 10], [999_999, 1_000_000])).to.deep.equal([500_000, 503_700])
    expect(dense(whole, [0, 1_000_000], ...many(9, 300_000))).to.deep.equal([300_000, 302_800])
  })

  it('is the shortest, and the first of several', () => {
    expect(dense(whole, [0, 1_000], [5_000, 6_000], [9_000, 10_000], [999_000, 1_000_000])).to.deep.equal([0, 10_000])
    expect(dense(whole, [0, 1_000], [2_000, 3_000], [4_000, 5_000])).to.deep.equal([0, 3_000])
    expect(dense(whole, [0, 1_000], [5_000, 6_000], [7_000, 7_500])).to.deep.equal([5_000, 7_500])
  })

  it('is none where it would hardly help, nor of spans that are too few', () => {
    expect(dense(whole, [0, 10], [900_000, 951_000], [930_000, 1_000_000])).to.equal(undefined)
    expect(dense(whole, ...many(17, 500_000), [0, 10], [5, 10], [999_999, 1_000_000])).to.equal(undefined)
    expect(dense(whole, [0, 10], [999_000, 1_000_000])).to.equal(undefined)
    expect(dense(rangeOf(5, 5), [5, 5], [5, 5], [5, 5])).to.equal(undefined)
    expect(dense(whole)).to.equal(undefined)
  })

  it('is none where what is long enough to be looked at would hardly help', () => {
    const nearby = [
      [0, 10],
      [0, 10],
      [0, 10],
      [800, 900],
    ] as const
    expect(dense(rangeOf(0, 900), ...nearby)).to.equal(undefined)
    expect(dense(rangeOf(0, 19_000), ...nearby)).to.equal(undefined)
    expect(dense(rangeOf(0, 21_000), ...nearby)).to.deep.equal([0, 1_000])
  })

  it('is long enough to be looked at where its spans take no time', () => {
    expect(dense(whole, [0, 10], [999_999, 999_999], [999_999, 999_999])).to.deep.equal([999_000, 1_000_000])
  })
})
