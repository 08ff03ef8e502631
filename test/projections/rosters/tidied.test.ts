import { expect } from 'chai'
import { tidied, type BuildFacts } from '#projections/rosters/tidied.ts'
import type { FollowedBuild, Roster } from '#projections/index-store.ts'

const [first, second, live, later] = ['logs-v3-001', 'logs-v3-002', 'logs-v3-003', 'logs-v3-004']

const rosterOf = (...followed: readonly FollowedBuild[]): Roster => ({ revision: 1, live, followed })
/** Builds of this log that have lost nothing, but for those that are named. */
const factsOf = ({ other = [], lost = [] }: Readonly<{ other?: readonly string[]; lost?: readonly string[] }> = {}) => {
  const map = (but: readonly string[], usual: boolean) =>
    new Map([first, second, live, later].map((index) => [index, but.includes(index) ? !usual : usual]))
  return { nowMs: 100, ofThisLog: map(other, true), lost: map(lost, false) }
}
const followedBy = (roster: Roster, facts: BuildFacts) => tidied(facts)(roster)?.followed
const dropped = (index: string): FollowedBuild => ({ index, as: 'dropped' })

describe('a roster that is tidied', () => {
  const kept = (untilMs?: number): FollowedBuild => ({
    index: first,
    as: 'kept',
    ...(untilMs === undefined ? {} : { untilMs }),
  })
  const candidate = (index: string): FollowedBuild => ({ index, as: 'candidate' })

  it('stays as it is where every build is of use', () => {
    const of = rosterOf(kept(101), candidate(later), { index: second, as: 'building' })
    expect(tidied(factsOf())(of)).to.equal(undefined)
  })

  it('gives up a build when its time is over, or where it is of another log, but not one that somebody keeps', () => {
    expect(followedBy(rosterOf(kept(100)), factsOf())).to.deep.equal([dropped(first)])
    expect(followedBy(rosterOf(kept(101)), factsOf({ other: [first] }))).to.deep.equal([dropped(first)])
    expect(tidied(factsOf({ other: [first] }))(rosterOf(kept()))).to.equal(undefined)
  })

  it('gives up a candidate of another log where readers are in a later build of this one', () => {
    const of = rosterOf(candidate(second), candidate(later))
    expect(followedBy(of, factsOf({ other: [second, later] }))).to.deep.equal([candidate(later), dropped(second)])
    expect(tidied(factsOf({ other: [second, live] }))(of), 'of a log that readers have no build of').to.equal(undefined)
    expect(tidied(factsOf({ other: [second] }))({ ...of, live: undefined }), 'without readers').to.equal(undefined)
  })

  it('gives up what has read more than the log still has, and marks it where somebody keeps it', () => {
    const of = rosterOf(kept(), candidate(later))
    const lost = { ...kept(), lost: true } as const
    expect(followedBy(of, factsOf({ lost: [first, later] }))).to.deep.equal([lost, dropped(later)])
    expect(followedBy(rosterOf(kept(101)), factsOf({ lost: [first] }))).to.deep.equal([dropped(first)])
    expect(tidied(factsOf({ lost: [first] }))(rosterOf(lost)), 'marked already').to.equal(undefined)
    expect(followedBy({ ...of, live: undefined }, factsOf({ lost: [later] }))).to.deep.equal([kept(), dropped(later)])
  })

  it('stays where the live build has read more than the log still has, too', () => {
    expect(tidied(factsOf({ lost: [live, later] }))(rosterOf(candidate(later)))).to.equal(undefined)
  })

  it('stays where nothing is known, of a build or of the live one: somebody has changed it since', () => {
    const unknown = { nowMs: 100, ofThisLog: new Map(), lost: new Map() }
    const of = rosterOf(kept(101), candidate(second))
    expect(tidied(unknown)(of)).to.equal(undefined)
    const known = new Map([[second, false]])
    expect(tidied({ ...unknown, ofThisLog: known })(of)).to.equal(undefined)
    for (const lost of [new Map([[second, true]]), new Map([[live, false]])])
      expect(tidied({ ...unknown, lost })(of)).to.equal(undefined)
  })

  it('leaves alone what another process has given up meanwhile, or made the live one', () => {
    const facts = factsOf({ other: [first, second], lost: [first, second] })
    expect(tidied(facts)(rosterOf(dropped(first), { index: second, as: 'gone' }))).to.equal(undefined)
    const moved: Roster = { revision: 2, live: first, followed: [{ index: live, as: 'kept', untilMs: 200 }] }
    expect(tidied(facts)(moved)).to.equal(undefined)
  })
})
