import { expect } from 'chai'
import { daysNeeded, withFirstDays } from '#projections/first-days.ts'
import type { IndexReader, Scope } from '#projections/index-store.ts'
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
