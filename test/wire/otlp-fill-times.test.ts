import { expect } from 'chai'
import { fillTimes } from '#src/wire/otlp/fill-times.ts'
import { givenSpan, noonNs } from '#test/projections/traces/given.ts'

describe('fillTimes', () => {
  const receivedAt = 1_795_240_000_123
  const filled = (times: Readonly<{ startNs: bigint; endNs: bigint }>) => {
    const [span] = fillTimes([{ ...givenSpan({ id: 1 }), ...times, cuts: ['name cut'] }], receivedAt)
    return [span?.startNs, span?.endNs, span?.cuts]
  }

  it('leaves spans with both times as they are', () => {
    const spans = [givenSpan({ id: 1 }), givenSpan({ id: 2 })]
    expect(fillTimes(spans, receivedAt)).to.equal(spans)
    expect(filled({ startNs: 1n, endNs: 2n })).to.deep.equal([1n, 2n, ['name cut']])
  })

  it('takes one time for the other, and the arrival for both, and says so behind what was said before', () => {
    const before = 'name cut'
    expect(filled({ startNs: noonNs, endNs: 0n })).to.deep.equal([
      noonNs,
      noonNs,
      [before, 'no end time: that of its start'],
    ])
    expect(filled({ startNs: 0n, endNs: noonNs })).to.deep.equal([
      noonNs,
      noonNs,
      [before, 'no start time: that of its end'],
    ])
    const arrivedNs = 1_795_240_000_123_000_000n
    expect(filled({ startNs: 0n, endNs: 0n })).to.deep.equal([
      arrivedNs,
      arrivedNs,
      [before, 'no times: that of its arrival'],
    ])
  })

  it("gives an event without a time that of its span's start, and says so once", () => {
    const event = { name: 'retry', timeNs: 0n, attributes: {}, droppedAttributesCount: 0 }
    const timed = { ...event, timeNs: noonNs + 5n }
    const given = { ...givenSpan({ id: 1 }), startNs: noonNs, endNs: 0n, spanEvents: [event, timed, event], cuts: [] }
    const [span] = fillTimes([given], receivedAt)
    expect(span?.spanEvents.map(({ timeNs }) => timeNs)).to.deep.equal([noonNs, noonNs + 5n, noonNs])
    expect(span?.cuts).to.deep.equal([
      'no end time: that of its start',
      "no time of an event: that of its span's start",
    ])
    const [untimed] = fillTimes([{ ...given, endNs: noonNs + 9n, spanEvents: [event] }], receivedAt)
    expect(untimed?.spanEvents.map(({ timeNs }) => timeNs)).to.deep.equal([noonNs])
    const whole = { ...givenSpan({ id: 2 }), spanEvents: [timed] }
    const [first, second] = fillTimes([whole, { ...given, endNs: noonNs }], receivedAt)
    expect(first).to.equal(whole)
    expect(second?.spanEvents.map(({ timeNs }) => timeNs)).to.deep.equal([noonNs, noonNs + 5n, noonNs])
    expect(second?.cuts).to.deep.equal(["no time of an event: that of its span's start"])
  })
})
