import { expect } from 'chai'
import { filledMessageOf, preciseTimeOf } from '#src/wire/logs/logback.ts'

describe("what logback's own encoder writes", () => {
  it('has its message filled as SLF4J fills it', () => {
    const filled = (message: string, ...given: unknown[]): unknown =>
      filledMessageOf({ message, arguments: given as never, loggerName: 'shop.Orders' })
    expect(filled('order {} of {} stored', '17', 'ann')).to.equal('order 17 of ann stored')
    expect(filled('literal \\{} and {} and {}', '1.5')).to.equal('literal {} and 1.5 and {}')
    expect(filled('{}', '$& {}')).to.equal('$& {}')
    expect(filled('plain', 'unused')).to.equal(undefined)
    expect(filledMessageOf({ message: 'of {}', arguments: ['1'] })).to.equal(undefined)
    expect(filledMessageOf({ message: 'of {}', loggerName: 'shop.Orders' })).to.equal(undefined)
  })

  // A minute, where each argument that is taken moves all that are left.
  it('has its message filled however many places it has', () => {
    const places = 450_000
    const message = '{}'.repeat(places)
    const given = Array.from({ length: places }, () => '1')
    expect(filledMessageOf({ message, arguments: given, loggerName: 'shop.Orders' })).to.equal('1'.repeat(places))
  }).timeout(20_000)

  it('has its time from both of its fields, if they are of one moment', () => {
    expect(preciseTimeOf(1_795_945_929_001, 1_536_974)).to.deep.equal({ seconds: 1_795_945_929, nanos: 1_536_974 })
    expect(preciseTimeOf(1_795_945_929_001, 2_536_974)).to.equal(undefined)
    expect(preciseTimeOf(1_795_945_929_001, undefined)).to.equal(undefined)
    expect(preciseTimeOf('1795945929001', 1_536_974)).to.equal(undefined)
  })
})
