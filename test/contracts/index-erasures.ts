import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Entry } from '#projections/projection.ts'
import {
  acme,
  day,
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

const second = 'fixture-v1-002'
const previousDay = '2026-11-20'

/** What IndexWriter promises about workspaces that are erased. `reopen`: as after the process has ended. */
export function erasureClauses(given: () => OpenIndexStore, reopen: () => Promise<void>): void {
  describe('a workspace that is erased', () => {
    const entries = (workspace: string, position: number): readonly Entry[] => [
      lineEntry({ text: `${workspace} secret`, level: 'info' }, position),
      lineEntry({ text: `${workspace} old`, level: 'warn' }, position + 1, { day: previousDay }),
      thingEntry(`${workspace}-thing`, { note: 'secret', tags: ['a'] }, position),
      { collection: 'sets', id: `${workspace}-set`, day, document: { value: 'x' }, position, created: position },
    ]
    const fill = async (build = index): Promise<void> => {
      const batch = [acme, other].map((workspaceId) => ({ workspaceId, entries: entries(workspaceId, 3) }))
      await given().writer.write(build, batch, { epoch, position: 5 })
      await given().writer.heartbeat(build, { position: 5, head: 5, at: 1e12, caughtUpAt: 1e12 })
    }
    /** Everything that readers can ask of a workspace. */
    const seen = async (workspaceId = acme) => {
      const { reader } = given()
      const lines = scopeOf('lines', workspaceId)
      const query = { filter: everything, orderBy: 'timeNs', direction: 'asc', limit: 100 } as const
      return {
        hits: (await reader.search(lines, query)).map(({ id }) => id),
        things: (await reader.get(scopeOf('things', workspaceId), [`${workspaceId}-thing`])).length,
        sets: (await reader.get(scopeOf('sets', workspaceId), [`${workspaceId}-set`])).length,
        count: await reader.count(lines, { filter: everything }),
        buckets: (await reader.histogram(lines, { filter: everything }, 60_000_000_000n, 'level')).length,
        values: (await reader.facets(lines, { filter: everything }, ['level'], 10)).flatMap(({ values }) => values),
      }
    }
    const nothing = { hits: [], things: 0, sets: 0, count: 0, buckets: 0, values: [] }

    it('is gone for readers, on every day and in every collection, and the others are as they were', async () => {
      await fill()
      const before = await seen(other)
      expect((await seen()).hits, 'there is something to erase, and readers have it open').to.have.length(2)
      await given().writer.eraseWorkspace(index, acme, 7)
      expect(await seen()).to.deep.equal(nothing)
      expect(await seen(other)).to.deep.equal(before)
      expect(before).to.deep.include({ things: 1, sets: 1, count: 2 })
    })

    it('is gone for the fold that goes on', async () => {
      await fill()
      await given().writer.eraseWorkspace(index, acme, 7)
      const keys = entries(acme, 3).map(({ collection, id, day }) => ({ workspaceId: acme, collection, id, day }))
      expect((await given().writer.load(index, keys)).flat()).to.deep.equal([])
      // As of who began before its erasure, and is late.
      for (const position of [6, 7]) {
        await write(given().writer, [thingEntry(`${acme}-thing`, { note: 'secret' }, position)], position)
      }
      expect(await seen()).to.deep.equal(nothing)
    })

    it('stays gone after the process has ended, and may be erased again', async () => {
      await fill()
      await given().writer.eraseWorkspace(index, acme, 7)
      await reopen()
      expect(await seen()).to.deep.equal(nothing)
      await given().writer.eraseWorkspace(index, acme, 7)
      expect(await seen()).to.deep.equal(nothing)
      expect((await seen(other)).count).to.equal(2)
    })

    it('keeps what later events have made, also when it is erased again up to the same place', async () => {
      await fill()
      expect((await seen()).count, 'readers have its files open').to.equal(2)
      await given().writer.eraseWorkspace(index, acme, 7)
      const late = lineEntry({ text: 'late', timeNs: noonNs + 5n }, 9)
      await write(given().writer, [late], 9)
      await given().writer.heartbeat(index, { position: 9, head: 9, at: 1e12 + 1_000, caughtUpAt: 1e12 })
      expect((await seen()).hits).to.deep.equal([late.id])
      await given().writer.eraseWorkspace(index, acme, 7)
      expect((await seen()).hits).to.deep.equal([late.id])
      await given().writer.eraseWorkspace(index, acme, 11)
      expect(await seen()).to.deep.equal(nothing)
    })

    it('is erased from the build that is named, and from none that has come further', async () => {
      await given().writer.open(second, fixture, epoch)
      await fill(second)
      await fill()
      await write(given().writer, [], 8)
      await given().writer.heartbeat(index, { position: 8, head: 8, at: 1e12 + 1_000, caughtUpAt: 1e12 })
      await given().writer.eraseWorkspace(second, acme, 7)
      expect((await seen()).count).to.equal(2)
      await promote(given().writer, 'fixture', second)
      expect(await seen()).to.deep.equal(nothing)
      expect((await seen(other)).count).to.equal(2)
    })

    it('is gone however much it was', async () => {
      const many = Array.from({ length: 1_500 }, (_, n) => lineEntry({ timeNs: noonNs + BigInt(n) }, n + 1))
      await write(given().writer, many, 1_500)
      await given().writer.eraseWorkspace(index, acme, 1_500)
      expect((await seen()).count).to.equal(0)
    })

    it('may never have been there', async () => {
      await fill()
      await given().writer.eraseWorkspace(index, scopeOf('lines').workspaceId, 1)
      expect((await seen()).count, 'it was written after that').to.equal(2)
    })
  })
}
