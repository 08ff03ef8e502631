import { expect } from 'chai'
import { daysNeeded, withFirstDays, withOwnProgress } from '#projections/retention/first-days.ts'
import type { IndexReader, Progress, Scope } from '#projections/index-store.ts'
import { acme, fixture, other } from '#test/support/index-fixture.ts'

const scope: Scope = { workspaceId: acme, projection: 'logs', collection: 'logs' }

describe('a reader of the days that are kept', () => {
  it('asks for nothing before the first of them, whatever it is asked', async () => {
    const asked: Record<string, unknown> = {}
    const asksBy = (name: string) => (given: Scope) => void (asked[name] = given.fromDay)
    const names = ['get', 'search', 'places', 'count', 'histogram', 'facets'] as const
    const inner = Object.fromEntries(names.map((name) => [name, asksBy(name)])) as unknown as IndexReader
    const reader = withFirstDays(inner, (workspaceId, projection) => `${workspaceId} ${projection}`)
    for (const name of names) await (reader[name] as unknown as (given: Scope) => Promise<void>)(scope)
    expect(asked).to.deep.equal(Object.fromEntries(names.map((name) => [name, 'acme logs'])))
  })

  it('answers in order where the one that it asks does, and only there', () => {
    const inOrder = (inner: Partial<IndexReader>) =>
      withFirstDays(inner as IndexReader, () => '2026-11-21').answersInOrder ?? false
    expect([inOrder({ answersInOrder: true }), inOrder({})]).to.deep.equal([true, false])
  })
})

describe('the days that an index needs', () => {
  const [short, long] = [{ retentionDays: 1 }, { retentionDays: 30 }]
  const keepings = { all: [short, long], of: (workspaceId: string) => (workspaceId === acme ? short : long) }
  const needed = (keptDaysMin?: number) => {
    const projection = { ...fixture, ...(keptDaysMin !== undefined && { keptDaysMin }) }
    const { of, all } = daysNeeded(projection, keepings, Date.parse('2026-11-21T12:00:00Z'))
    return [of(acme), of(other), all]
  }

  it('are those that readers see, those that a new event may find documents on, and one more', () => {
    expect(needed()).to.deep.equal(['2026-11-18', '2026-10-21', '2026-10-21'])
    expect(needed(5)).to.deep.equal(['2026-11-15', '2026-10-21', '2026-10-21'])
  })
})

describe('how far an index is for one workspace', () => {
  const behind = { index: 'logs-v1-001', after: 0, position: 10, head: 90, at: 1_000, caughtUpAt: 100 }
  const told = (progress: Progress | undefined): Promise<Progress | undefined> => {
    const reader: Pick<IndexReader, 'progress'> = { progress: async () => progress }
    return withOwnProgress(reader, acme, () => '2026-11-21').progress('logs')
  }

  it('is as far as it was folded ahead for that one', async () => {
    const ahead = { position: 80, caughtUpAt: 900, behind: new Map([[other, 20]]) }
    expect(await told({ ...behind, ahead })).to.deep.equal({ ...behind, position: 80, caughtUpAt: 900 })
    const ofAcme = { ...ahead, behind: new Map([[acme, 20]]) }
    expect(await told({ ...behind, ahead: ofAcme })).to.deep.equal({ ...behind, position: 20 })
    expect(await told(behind)).to.deep.equal(behind)
    const late = { ...behind, caughtUpAt: 950 }
    expect(await told({ ...late, ahead }), 'never earlier').to.deep.equal({ ...late, position: 80 })
    expect(await told(undefined), 'where there is no index').to.equal(undefined)
  })

  it('lacks those of its days that readers see, of which an engine may keep one for all', async () => {
    const lostDays = [
      { workspaceId: acme, day: '2026-11-20' },
      { workspaceId: acme, day: '2026-11-21' },
      { workspaceId: other, day: '2026-11-22' },
      { day: '2026-11-23' },
      { day: '2026-11-19' },
    ]
    expect((await told({ ...behind, lostDays }))?.lostDays).to.deep.equal([lostDays[1], lostDays[3]])
    expect(await told({ ...behind, lostDays: lostDays.slice(0, 1) })).to.deep.equal(behind)
  })

  it('lacks what is left out of its own events, and not what is of others', async () => {
    expect(await told({ ...behind, lacking: [acme, other] })).to.deep.equal({ ...behind, lacking: [acme] })
    expect(await told({ ...behind, lacking: [other] })).to.deep.equal(behind)
  })
})
