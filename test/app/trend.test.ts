import { expect } from 'chai'
import { countsOver, trend, withinOf } from '#src/app/search/patterns/trend.ts'

const markupOf = (times: readonly number[], all = times): string => trend(times, withinOf(all)).markup

describe('a trend', () => {
  it('counts each time once, in parts of one length', () => {
    const times = Array.from({ length: 240 }, (_, n) => 1_000 + n)
    expect(countsOver(times, { fromMs: 1_000, toMs: 1_240 })).to.deep.equal(Array.from({ length: 24 }, () => 10))
    const ends = countsOver([1_000, 1_240], { fromMs: 1_000, toMs: 1_240 })
    expect([ends.length, ends.at(0), ends.at(-1)]).to.deep.equal([24, 1, 1])
    expect(ends.reduce((sum, count) => sum + count, 0)).to.equal(2)
  })

  it('is drawn over the time of all, up to its own highest bar', () => {
    const all = [0, 240, 120, 120, 120, 125]
    const drawn = [
      ...markupOf([120, 120, 120, 125, 240], all).matchAll(/<rect x="(\d+)" y="(\d+)"[^>]*height="(\d+)"/g),
    ]
    expect(drawn.map(([, x, y, height]) => [x, y, height])).to.deep.equal([
      ['12', '0', '16'],
      ['23', '12', '4'],
    ])
  })

  it('of one moment is one bar, and of none is empty', () => {
    expect(markupOf([7, 7]).match(/<rect/g)).to.have.length(1)
    expect(markupOf([])).to.not.include('<rect').and.not.include('NaN').and.not.include('Infinity')
  })
})
