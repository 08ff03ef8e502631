import { expect } from 'chai'
import { daysOfClass, firstDayKept, retentionClassOf } from '#src/events/retention.ts'

const at = (text: string): number => Date.parse(text)
const noon = at('2026-11-21T12:00:00Z')

describe('retention', () => {
  it('keeps today and so many days before it, from midnight to midnight in UTC', () => {
    const keeping = { retentionDays: 7 }
    expect(firstDayKept(keeping, noon)).to.equal('2026-11-14')
    expect(firstDayKept(keeping, at('2026-11-21T00:00:00.000Z'))).to.equal('2026-11-14')
    expect(firstDayKept(keeping, at('2026-11-20T23:59:59.999Z'))).to.equal('2026-11-13')
    expect(firstDayKept(keeping, noon, 38)).to.equal('2026-10-14')
    expect(firstDayKept({ retentionDays: 90 }, noon, 38)).to.equal('2026-08-23')
  })

  it('goes by a smaller plan at once', () => {
    const formerPlans = [{ retentionDays: 30, until: at('2026-11-21T11:00:00Z') }]
    expect(firstDayKept({ retentionDays: 7, formerPlans }, noon)).to.equal('2026-11-14')
  })

  it('does not bring back what a smaller plan had let go, and keeps more from then on', () => {
    const until = at('2026-11-20T10:00:00Z')
    const keeping = { retentionDays: 30, formerPlans: [{ retentionDays: 7, until }] }
    expect(firstDayKept(keeping, noon)).to.equal('2026-11-13')
    expect(firstDayKept(keeping, at('2026-12-13T12:00:00Z'))).to.equal('2026-11-13')
    expect(firstDayKept(keeping, at('2026-12-14T12:00:00Z'))).to.equal('2026-11-14')
    // Nothing of it was let go: it is kept so long under every plan.
    expect(firstDayKept(keeping, noon, 38)).to.equal('2026-10-14')
  })

  it('reads the days of a class, and none where it is no plan’s', () => {
    expect(retentionClassOf(30)).to.equal('30d')
    expect(['7d', '30d', 'allowance', 'deadletter', 'pro', 'd', '-7d'].map(daysOfClass)).to.deep.equal([
      7, 30, 0, 0, 0, 0, 0,
    ])
  })
})
