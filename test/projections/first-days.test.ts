import { expect } from 'chai'
import { withFirstDays } from '#projections/first-days.ts'
import type { IndexReader, Scope } from '#projections/index-store.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

const scope: Scope = { workspaceId: workspaceIdOf('acme'), projection: 'logs', collection: 'logs' }

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
