import { expect } from 'chai'
import type { Roster } from '#projections/index-store.ts'
import { isGone } from '#projections/builds/roster.ts'

describe('roster', () => {
  it('has used up the names up to one that is gone, but not of builds that it still names', () => {
    const roster: Roster = {
      revision: 1,
      live: 'logs-v3-002',
      followed: [
        { index: 'logs-v3-001', as: 'kept' },
        { index: 'logs-v3-004', as: 'gone' },
        { index: 'logs-v3-005', as: 'dropped' },
        { index: 'logs-v3-006', as: 'candidate' },
      ],
    }
    const names = [1, 2, 3, 4, 5, 6, 7].map((build) => `logs-v3-00${build}`)
    expect(names.filter((index) => isGone(roster, index))).to.deep.equal(['logs-v3-003', 'logs-v3-004', 'logs-v3-005'])
    expect(isGone(roster, 'logs-v2-001'), 'of another version').to.equal(false)
  })
})
