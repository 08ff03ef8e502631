import { expect } from 'chai'
import { dueBuild, holdsAllOf } from '#projections/rosters/due-build.ts'
import type { Reached, Roster, StoredBuild } from '#projections/index-store.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

const [live, second, third] = ['logs-v3-001', 'logs-v3-002', 'logs-v3-003']
const [acme, other] = [workspaceIdOf('acme'), workspaceIdOf('other')]

/** Folded ahead up to `to` for all but acme, which is behind at `acmeAt`. */
const ahead = (position: number, to: number, acmeAt: number): Reached => ({
  position,
  ahead: { position: to, caughtUpAt: 0, behind: new Map([[acme, acmeAt]]) },
})

describe('the build to which readers may move', () => {
  const roster: Roster = {
    revision: 1,
    live,
    followed: [
      { index: second, as: 'kept', untilMs: 7 },
      { index: third, as: 'candidate' },
    ],
  }
  const due = (reached: Readonly<Record<string, Reached>>, { head = 50, begunAt = 10, given = roster } = {}) =>
    dueBuild(given, { reached: (index) => reached[index], head, begunAt })

  it('is the candidate that has come as far as the live one, or further, and not a kept one', () => {
    const [before, at, beyond] = [19, 20, 21].map((position) =>
      due({ [live]: { position: 20 }, [third]: { position } }),
    )
    expect([before, at, beyond]).to.deep.equal([undefined, third, third])
    expect(due({ [live]: { position: 20 }, [second]: { position: 20 } })).to.equal(undefined)
  })

  it('is none that nobody folds here, nor before it has what an earlier process may have written', () => {
    expect(due({ [live]: { position: 20 } })).to.equal(undefined)
    const both = { [live]: { position: 9 }, [third]: { position: 9 } }
    expect([due(both), due(both, { begunAt: 9 })]).to.deep.equal([undefined, third])
  })

  it('has all of the log where the live one is not folded here, or readers have none', () => {
    for (const given of [roster, { ...roster, live: undefined }]) {
      expect(due({ [third]: { position: 49 } }, { given })).to.equal(undefined)
      expect(due({ [third]: { position: 50 } }, { given })).to.equal(third)
    }
  })

  it('has what the live one was folded ahead', () => {
    const at = (candidate: Reached) => due({ [live]: ahead(20, 40, 25), [third]: candidate })
    expect(at({ position: 20 }), 'nothing ahead').to.equal(undefined)
    expect(at(ahead(20, 39, 25)), 'less far').to.equal(undefined)
    expect(at(ahead(20, 40, 24)), 'one workspace less far').to.equal(undefined)
    expect(at(ahead(20, 40, 25))).to.equal(third)
    expect(at({ position: 20, ahead: { position: 40, caughtUpAt: 0, behind: new Map([[other, 30]]) } })).to.equal(
      undefined,
    )
    expect(at({ position: 40 }), 'all of it in its turn').to.equal(third)
  })
})

describe('a build that is to hold all that readers find', () => {
  const stored = (checkpoint: number, told: Reached): StoredBuild => {
    const heartbeat = {
      head: 50,
      at: 0,
      caughtUpAt: 0,
      position: told.position,
      ...(told.ahead && { ahead: told.ahead }),
    }
    return { index: live, epoch: 'here', after: 0, checkpoint, heartbeat }
  }

  it('is as far as that has been written, has been told, and was folded ahead by whoever folds it', () => {
    const own: Reached = { position: 20 }
    expect(holdsAllOf(own, stored(20, { position: 20 }), 'here')).to.equal(true)
    expect(holdsAllOf(own, stored(21, { position: 0 }), 'here'), 'written').to.equal(false)
    expect(holdsAllOf(own, stored(0, { position: 21 }), 'here'), 'told').to.equal(false)
    expect(holdsAllOf(own, stored(20, ahead(20, 40, 25)), 'here'), 'ahead').to.equal(false)
    expect(holdsAllOf(ahead(20, 40, 25), stored(20, ahead(20, 40, 25)), 'here')).to.equal(true)
  })

  it('is any, where that is not there, or is of another log', () => {
    expect(holdsAllOf({ position: 0 }, undefined, 'here')).to.equal(true)
    expect(holdsAllOf({ position: 0 }, stored(21, { position: 21 }), 'elsewhere')).to.equal(true)
  })
})
