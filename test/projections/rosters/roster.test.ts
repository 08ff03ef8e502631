import { expect } from 'chai'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { isMadeBefore } from '#projections/rosters/build-name.ts'
import { chooseBuild, nextBuild } from '#projections/rosters/choose-build.ts'
import type { Roster } from '#projections/index-store.ts'
import { begin, changeRoster, forget, giveUp, holding, isGone, lose, nominate } from '#projections/rosters/roster.ts'
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
    const many: Roster = { ...roster, followed: [{ index: 'logs-v3-1000', as: 'gone' }] }
    const around = ['logs-v3-999', 'logs-v3-1000', 'logs-v3-1001']
    expect(around.filter((index) => isGone(many, index))).to.deep.equal(around.slice(0, 2))
  })

  const roster: Roster = {
    revision: 1,
    live: 'logs-v3-005',
    followed: [
      { index: 'logs-v3-001', as: 'kept' },
      { index: 'logs-v3-002', as: 'dropped' },
      { index: 'logs-v3-003', as: 'kept', untilMs: 7 },
      { index: 'logs-v3-004', as: 'gone' },
    ],
  }

  it('forgets what went before one that is gone already without a name of its own', () => {
    const left = roster.followed.filter(({ index }) => index !== 'logs-v3-002')
    expect(forget('logs-v3-002')(roster)?.followed).to.deep.equal(left)
  })

  it('loses only what a projector folds', () => {
    const lost = roster.followed.filter(({ index }) => lose(index)(roster) !== undefined)
    expect(lost.map(({ index }) => index)).to.deep.equal(['logs-v3-001', 'logs-v3-003'])
  })

  it('never notes that the live build holds the log', () => {
    expect(holding('logs-v3-005', 7)(roster)).to.equal(undefined)
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

  it('has a log folded under no name that is used up', async () => {
    const { writer } = createMemoryIndexStore()
    for (const change of [begin, giveUp, forget]) await changeRoster(writer, 'counting', change('counting-v1-002'))
    expect(await chooseBuild(writer, counting, 'a log')).to.equal('counting-v1-003')
  })

  it('gives a new build a name after all that are stored, also those that it does not name', async () => {
    const { writer } = createMemoryIndexStore()
    await writer.open('counting-v1-004', withSeenEvents(counting), 'a log')
    expect(await nextBuild(writer, counting)).to.equal('counting-v1-005')
  })
})
