import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Entry } from '#projections/projection.ts'
import {
  acme,
  epoch,
  everything,
  fixture,
  index,
  lineEntry,
  noonNs,
  other,
  scopeOf,
  thingEntry,
  write,
  type OpenIndexStore,
} from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'

const days = ['2025-12-31', '2026-11-09', '2026-11-10', '2026-11-20'] as const
const minuteNs = 60_000_000_000n

/** What the ports promise of days: readers see none before a scope's first, and days that are not kept go. */
export function retentionClauses(given: () => OpenIndexStore, reopen: () => Promise<void>): void {
  describe('days of receipt', () => {
    /** An entry of each collection on each day; record times have nothing to do with them. */
    const fill = async (build = index): Promise<void> => {
      const entries = days.flatMap((day, at): readonly Entry[] => [
        lineEntry({ text: `word${at} same`, level: day, timeNs: noonNs - BigInt(at) * minuteNs }, at + 1, { day }),
        thingEntry('thing', { note: day, weight: at }, at + 1, { day }),
        thingEntry(`thing-${day}`, { note: 'one day' }, at + 1, { day }),
      ])
      const batch = [acme, other].map((workspaceId) => ({ workspaceId, entries }))
      await given().writer.write(build, batch, { epoch, position: days.length })
      await given().writer.heartbeat(build, { position: 4, head: 4, at: 1e12, caughtUpAt: 1e12 })
    }
    /** The days that each way of reading finds something of. */
    const seen = async (workspaceId = acme, fromDay?: string) => {
      const { reader } = given()
      const scope = { ...scopeOf('lines', workspaceId), ...(fromDay === undefined ? {} : { fromDay }) }
      const query = { filter: everything, orderBy: 'position', direction: 'asc', limit: 100 } as const
      const buckets = await reader.histogram(scope, { filter: everything }, minuteNs, 'level')
      const facets = await reader.facets(scope, { filter: everything }, ['level'], 100)
      const pattern = { kind: 'pattern', fields: ['message'], prefix: 'word', regex: 'word[0-9]' } as const
      const things = { ...scope, collection: 'things' }
      const found = await reader.get<{ note: string }>(things, ['thing', ...days.map((day) => `thing-${day}`)])
      return {
        search: (await reader.search<{ level: string }>(scope, query)).map(({ document }) => document.level),
        histogram: buckets.flatMap(({ by }) => Object.keys(by)).sort(),
        facets: facets.flatMap(({ values }) => values.map(({ value }) => value)).sort(),
        counts: [await reader.count(scope, { filter: everything }), await reader.count(scope, { filter: pattern })],
        newest: found.find(({ id }) => id === 'thing')?.document.note,
        byId: found.flatMap(({ id }) => (id === 'thing' ? [] : [id.slice('thing-'.length)])),
      }
    }
    const onlyFrom = (first: string) => {
      const left = days.filter((day) => day >= first)
      const lists = { search: left, histogram: left, facets: left, byId: left }
      return { ...lists, counts: [left.length, left.length], newest: left.at(-1) }
    }

    it('before the first of a scope are not shown, whatever is asked', async () => {
      await fill()
      for (const first of [...days, '2026-01-01', '2026-11-11', '2026-11-21', '1999-12-31']) {
        expect(await seen(acme, first), first).to.deep.equal(onlyFrom(first))
      }
      expect(await seen()).to.deep.equal(onlyFrom(days[0]))
    })

    it('goes on in pages within the scope', async () => {
      await fill()
      const { reader } = given()
      const scope = { ...scopeOf('lines'), fromDay: '2026-11-10' }
      const levels: unknown[] = []
      for (let after: { value: bigint; id: string } | undefined; ;) {
        const [hit] = await reader.search<{ level: string }>(scope, {
          filter: everything,
          orderBy: 'timeNs',
          direction: 'asc',
          limit: 1,
          ...(after === undefined ? {} : { after }),
        })
        if (hit === undefined) break
        levels.push(hit.document.level)
        after = hit.sort
      }
      expect(levels).to.deep.equal(['2026-11-20', '2026-11-10'])
    })

    it('that are not kept are dropped, each whole, and the others stay as they were', async () => {
      await fill()
      await seen()
      const kept = { of: () => '2026-11-10', all: '2026-11-10' }
      expect(await given().writer.dropDays(index, kept)).to.be.greaterThan(0)
      for (const workspaceId of [acme, other]) {
        expect(await seen(workspaceId)).to.deep.equal(onlyFrom('2026-11-10'))
      }
      expect(await given().writer.dropDays(index, kept), 'again').to.equal(0)
      await reopen()
      expect(await seen()).to.deep.equal(onlyFrom('2026-11-10'))
      const keys = days.map((day) => ({ workspaceId: acme, collection: 'things', id: `thing-${day}`, day }))
      const loaded = await given().writer.load(index, keys)
      expect(loaded.map((entries) => entries.length)).to.deep.equal([0, 0, 1, 1])
    })

    it('of each workspace are kept as that one keeps them', async () => {
      await fill()
      const firstOf = (workspaceId: string): string => (workspaceId === acme ? '2026-11-20' : '2026-11-09')
      await given().writer.dropDays(index, { of: firstOf, all: '2026-11-09' })
      for (const workspaceId of [acme, other]) {
        const first = firstOf(workspaceId)
        expect(await seen(workspaceId, first), workspaceId).to.deep.equal(onlyFrom(first))
      }
    })

    it('that were dropped can be written anew, and are found', async () => {
      await fill()
      await given().writer.dropDays(index, { of: () => '2026-11-20', all: '2026-11-20' })
      expect((await seen()).search).to.deep.equal(['2026-11-20'])
      await write(given().writer, [lineEntry({ level: 'late' }, 9, { day: '2026-11-09' })], 9)
      await given().writer.heartbeat(index, { position: 9, head: 9, at: 2e12, caughtUpAt: 2e12 })
      expect((await seen()).search).to.deep.equal(['2026-11-20', 'late'])
    })

    it('are dropped of builds that nobody has open, too; and one that is not there has none', async () => {
      const second = 'fixture-v1-002'
      await given().writer.open(second, fixture, epoch)
      await fill(second)
      await reopen()
      const kept = { of: () => '2026-11-20', all: '2026-11-20' }
      expect(await given().writer.dropDays(second, kept)).to.be.greaterThan(0)
      expect(await given().writer.dropDays('fixture-v1-009', kept)).to.equal(0)
      await given().writer.open(second, fixture, epoch)
      await promote(given().writer, 'fixture', second)
      expect((await seen()).search).to.deep.equal(['2026-11-20'])
    })
  })
}
