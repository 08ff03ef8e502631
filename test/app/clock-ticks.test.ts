import { expect } from 'chai'
import { describe, it } from 'mocha'
import { clockTicks } from '#src/app/search/clock-ticks.ts'

/** The words of the ticks of a range, and where they stand, in hundredths of it. */
function ticksOf(from: string, to: string): readonly string[] {
  const { markup } = clockTicks(Date.parse(from), Date.parse(to))
  return [...markup.matchAll(/x="([^"]*)%"[^>]*>([^<]*)</g)].map(([, x, words]) => `${words} ${x}`)
}

describe('round times below bars', () => {
  it('are few, at their places', () => {
    expect(ticksOf('2026-11-21T12:00Z', '2026-11-21T13:00Z')).to.deep.equal([
      '12:15 25.00',
      '12:30 50.00',
      '12:45 75.00',
    ])
  })

  it('are told to the second, the minute or the day, as the range is long', () => {
    const words = (from: string, to: string): readonly string[] =>
      ticksOf(from, to).map((tick) => tick.split(' ').slice(0, -1).join(' '))
    expect(words('2026-11-21T12:00:00Z', '2026-11-21T12:00:20Z')).to.deep.equal(['12:00:05', '12:00:10', '12:00:15'])
    expect(words('2026-11-21T12:00:00Z', '2026-11-21T12:04:00Z')).to.deep.equal(['12:01', '12:02', '12:03'])
    expect(words('2026-11-21T11:00Z', '2026-11-22T11:00Z')).to.deep.equal(['12:00', '18:00', '00:00', '06:00'])
    expect(words('2026-11-21T10:00Z', '2026-11-22T11:00Z')[0]).to.equal('11-21 12:00')
    expect(words('2026-11-20T11:00Z', '2026-11-24T11:00Z')).to.deep.equal(['11-21', '11-22', '11-23', '11-24'])
  })

  it('are none where they would be cut, or where there are none that are round', () => {
    expect(ticksOf('2026-11-21T12:00:01Z', '2026-11-21T13:00:01Z')).to.have.length(3)
    expect(ticksOf('2026-11-21T12:14Z', '2026-11-21T12:46Z').join()).to.match(/^12:20 18.75,12:30 50.00,12:40 81.25$/)
    // 12:00 stands at a twentieth of it.
    expect(ticksOf('2026-11-21T10:45Z', '2026-11-22T11:45Z')[0]).to.equal('11-21 18:00 29.00')
    expect(ticksOf('2026-11-21T11:00Z', '2026-11-22T07:00Z')[0]).to.equal('12:00 5.00')
    expect(ticksOf('2026-11-21T12:00:00.100Z', '2026-11-21T12:00:00.300Z')).to.deep.equal([])
    expect(ticksOf('1970-01-01T00:00Z', '2026-11-21T12:00Z')).to.deep.equal([])
    expect(ticksOf('2026-11-21T12:00Z', '2026-11-21T12:00Z')).to.deep.equal([])
  })
})
