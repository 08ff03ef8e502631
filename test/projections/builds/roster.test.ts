import { expect } from 'chai'
import { isMadeBefore } from '#projections/builds/build-name.ts'
import { nextBuild } from '#projections/builds/choose-build.ts'
import type { Roster } from '#projections/index-store.ts'
import { changeRoster, isGone, nominate } from '#projections/builds/roster.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { counting } from '#test/support/line-projections.ts'

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

  it('tells which build was made before by version, and then by number', () => {
    const inOrder = ['logs-v1-002', 'logs-v2-001', 'logs-v2-003', 'logs-v10-001']
    for (const [at, index] of inOrder.entries())
      expect(
        inOrder.filter((other) => isMadeBefore(other, index)),
        index,
      ).to.deep.equal(inOrder.slice(0, at))
  })

  it('keeps the name of the live build for it, also where that has been removed by hand', async () => {
    const { writer } = createMemoryIndexStore()
    await changeRoster(writer, 'counting', nominate('counting-v1-001'))
    expect(await nextBuild(writer, counting)).to.equal('counting-v1-002')
  })
})
