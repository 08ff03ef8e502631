import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { IndexWriter } from '#projections/index-store.ts'
import {
  acme,
  epoch,
  everything,
  fixture,
  idsOf,
  index,
  lineEntry,
  write,
  type OpenIndexStore,
} from '#test/support/index-fixture.ts'
import { liveOf, promote } from '#test/support/promote.ts'
import { expectOneStep } from './one-step.ts'

const second = 'fixture-v1-002'

/** What IndexWriter promises about builds beside the live one. */
export function buildClauses(given: () => OpenIndexStore): void {
  describe('builds beside the live one', () => {
    const writer = (): IndexWriter => given().writer

    it('tells the builds of a projection, each with its log, where it began and how far it is', async () => {
      expect(await writer().builds('nothing')).to.deep.equal([])
      await writer().open(second, fixture, epoch, 5)
      await writer().open('fixture-v12-001', { ...fixture, version: 12 }, epoch)
      await writer().open('fixture-other-v1-001', { ...fixture, name: 'fixture-other' }, epoch)
      const found = await writer().builds('fixture')
      expect(found.map((build) => build.index)).to.deep.equal([index, second, 'fixture-v12-001'])
      expect(found.map(({ after }) => after)).to.deep.equal([0, 5, 0])
      expect(found.map((build) => build.epoch)).to.deep.equal([epoch, epoch, epoch])
      expect(found.map(({ checkpoint }) => checkpoint)).to.deep.equal([0, 5, 0])
      const heartbeat = { position: 7, head: 9, at: 1_700_000_000_000, caughtUpAt: 1_699_999_999_000 }
      await writer().heartbeat(second, heartbeat)
      expect((await writer().builds('fixture'))[1]?.heartbeat).to.deep.equal(heartbeat)
      const last = { position: 7, event: 'acme.logs.7 1 2' }
      await writer().heartbeat(second, { ...heartbeat, position: 8, last })
      expect((await writer().builds('fixture'))[1]?.heartbeat).to.deep.equal({ ...heartbeat, position: 8, last })
    })

    it('begins a build where it is told to, once', async () => {
      await writer().open(second, fixture, epoch, 5)
      expect(await writer().checkpoint(second)).to.deep.equal({ epoch, position: 5 })
      await writer().open(second, fixture, epoch)
      expect((await writer().builds('fixture')).find((build) => build.index === second)?.after).to.equal(5)
      await promote(writer(), 'fixture', second)
      await writer().heartbeat(second, { position: 7, head: 9, at: 1e12, caughtUpAt: 1e12 })
      expect(await given().reader.progress('fixture'), 'readers are told').to.include({ after: 5, position: 7 })
    })

    it('keeps a roster, changed by who knows the last one', async () => {
      const none = await writer().roster('nothing')
      expect(none).to.deep.equal({ revision: 0, live: undefined, followed: [] })
      await writer().open(second, fixture, epoch)
      const before = await writer().roster('fixture')
      expect(before).to.deep.include({ live: index, followed: [] })
      const followed = [{ index: second, as: 'candidate', keeps: index }] as const
      expect(await writer().changeRoster('fixture', { ...before, followed })).to.equal(true)
      expect(await writer().changeRoster('fixture', { ...before, live: second })).to.equal(false)
      const after = await writer().roster('fixture')
      expect(after).to.deep.equal({ revision: before.revision + 1, live: index, followed })
      const kept = [{ index, as: 'kept', untilMs: 1_700_000_000_000 }] as const
      expect(await writer().changeRoster('fixture', { ...after, live: second, followed: kept })).to.equal(true)
      expect(await liveOf(writer(), 'fixture')).to.equal(second)
      expect((await writer().roster('fixture')).followed).to.deep.equal(kept)
    })

    it('makes the first roster of a projection once', async () => {
      const roster = { revision: 0, live: second, followed: [] }
      expect(await writer().changeRoster('fresh', roster)).to.equal(true)
      expect(await writer().changeRoster('fresh', { ...roster, live: index })).to.equal(false)
      expect(await liveOf(writer(), 'fresh')).to.equal(second)
    })

    it('keeps a roster before readers have a build', async () => {
      const followed = [{ index: second, as: 'building', workspaceId: acme }] as const
      expect(await writer().changeRoster('fresh', { revision: 0, live: undefined, followed })).to.equal(true)
      expect(await writer().roster('fresh')).to.deep.equal({ revision: 1, live: undefined, followed })
      expect(await liveOf(writer(), 'fresh')).to.equal(undefined)
      expect(await given().reader.progress('fresh')).to.equal(undefined)
    })

    it('lets one of many who change the roster at once do so', async () => {
      for (const projection of ['fixture', 'fresh']) {
        const roster = await writer().roster(projection)
        const changes = Array.from({ length: 8 }, () => writer().changeRoster(projection, roster))
        expect((await Promise.all(changes)).filter(Boolean), projection).to.have.length(1)
      }
    })

    it('takes a promotion as a change of the roster that keeps what is followed', async () => {
      await writer().open(second, fixture, epoch)
      const before = await writer().roster('fixture')
      await writer().changeRoster('fixture', { ...before, followed: [{ index: second, as: 'candidate' }] })
      const between = await writer().roster('fixture')
      await promote(writer(), 'fixture', second)
      expect(await writer().changeRoster('fixture', between)).to.equal(false)
      expect((await writer().roster('fixture')).followed).to.deep.equal([{ index: second, as: 'candidate' }])
    })

    it('moves readers with the roster in one step', async () => {
      await write(writer(), [lineEntry({ text: 'old' }, 1)], 1)
      await writer().open(second, fixture, epoch)
      const entry = lineEntry({ text: 'new' }, 2)
      await writer().write(second, [{ workspaceId: acme, entries: [entry] }], { epoch, position: 2 })
      const roster = await writer().roster('fixture')
      const move = () => writer().changeRoster('fixture', { ...roster, live: second })
      await expectOneStep(given().reader, move, { from: lineEntry({}, 1).id, to: entry.id })
    })

    it('drops a build with all it holds, and makes it anew from nothing', async () => {
      await writer().open(second, fixture, epoch)
      const entries = [lineEntry({ text: 'gone' }, 1)]
      await writer().write(second, [{ workspaceId: acme, entries }], { epoch, position: 1 })
      await writer().drop(second)
      await writer().drop(second)
      expect((await writer().builds('fixture')).map((build) => build.index)).to.deep.equal([index])
      expect(await writer().checkpoint(second)).to.deep.equal({ epoch: '', position: 0 })
      await writer().open(second, fixture, epoch)
      expect(await writer().checkpoint(second)).to.deep.equal({ epoch, position: 0 })
      await promote(writer(), 'fixture', second)
      expect(await idsOf(given().reader, 'lines', everything)).to.deep.equal([])
      const entry = lineEntry({ text: 'new' }, 1)
      await writer().write(second, [{ workspaceId: acme, entries: [entry] }], { epoch, position: 1 })
      expect(await idsOf(given().reader, 'lines', everything)).to.deep.equal([entry.id])
    })

    it('takes a build that was dropped and made again under its name for what it is', async () => {
      await writer().open(second, fixture, epoch)
      const entries = [lineEntry({ text: 'gone' }, 1)]
      await writer().write(second, [{ workspaceId: acme, entries }], { epoch, position: 1 })
      await promote(writer(), 'fixture', second)
      expect(await idsOf(given().reader, 'lines', everything)).to.have.length(1)
      await promote(writer(), 'fixture', index)
      await writer().drop(second)
      await writer().open(second, fixture, epoch)
      await promote(writer(), 'fixture', second)
      expect(await idsOf(given().reader, 'lines', everything)).to.deep.equal([])
    })

    it('goes on with the build that readers use after another was dropped', async () => {
      await writer().open(second, fixture, epoch)
      await promote(writer(), 'fixture', second)
      expect(await idsOf(given().reader, 'lines', everything)).to.deep.equal([])
      await promote(writer(), 'fixture', index)
      await writer().drop(second)
      await write(writer(), [lineEntry({ text: 'kept' }, 1)], 1)
      expect(await idsOf(given().reader, 'lines', everything)).to.have.length(1)
    })
  })
}
