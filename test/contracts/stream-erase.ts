import { expect } from 'chai'
import { beforeAll as beforeEvents, type Position } from '#src/events/envelope.ts'
import { erasureSubject, isErasure, sealErasure } from '#src/events/erasure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import { makeEvent, noon } from '#test/support/make-event.ts'
import { idsOf, readAll, rejection } from '#test/support/read-all.ts'

const acme = workspaceIdOf('acme')
const globex = workspaceIdOf('globex')

/** Clauses of the port about workspaces that are erased. `reopen` closes the log and opens it again. */
export function eraseClauses(stream: () => Stream, reopen: (() => Promise<Stream>) | undefined): void {
  describe('a workspace that is erased', () => {
    const ledger = 'allowance.acme.2026-11'
    let positions: Position[]

    const erasing = async (unique = 'one'): Promise<Position> =>
      (await stream().append([sealErasure(acme, { at: noon, unique })])).last
    const erase = async (unique?: string): Promise<Position> => {
      const upTo = await erasing(unique)
      await stream().erase(acme, upTo)
      return upTo
    }
    const at = (index: number): Position => positions[index] ?? Number.NaN

    // acme, acme, globex, acme, globex: in the first event, in the middle, and before the erasure.
    beforeEach(async () => {
      positions = []
      for (const [index, workspaceId] of [acme, acme, globex, acme, globex].entries()) {
        const subject = index === 1 ? { subject: ledger } : {}
        const event = makeEvent(`event-${index}`, { workspaceId, receivedAt: noon + index, ...subject })
        positions.push((await stream().append([event])).last)
      }
    })
    const left = ['globex.traces.event-2', 'globex.traces.event-4', 'acme.workspace.one']

    it('is gone for readers wherever they stand, and all others are where they were', async () => {
      const upTo = await erase()
      for (const max of [1, 2, 100]) expect(idsOf(await readAll(stream(), max)), `${max}`).to.deep.equal(left)
      expect((await readAll(stream())).map(({ position }) => position)).to.deep.equal([at(2), at(4), upTo])
      for (const [index, next] of [at(2), at(2), at(4), at(4), upTo].entries()) {
        expect((await stream().read(at(index), 1))[0]?.position, `after ${index}`).to.equal(next)
      }
      expect(await stream().read(upTo, 10)).to.deep.equal([])
      expect(await stream().head()).to.equal(upTo)
      expect(await stream().first()).to.deep.equal({ position: at(2), receivedAt: noon + 2, isCut: false })
      if (reopen !== undefined) expect(idsOf(await readAll(await reopen()))).to.deep.equal(left)
    })

    it('is gone by its ids and its subjects, and its erasures are not', async () => {
      const upTo = await erase()
      const ids = [0, 1, 3].map((index) => `acme.traces.event-${index}`)
      expect([...(await stream().find(ids, noon + 10))]).to.deep.equal([])
      expect(await stream().last(ledger)).to.equal(undefined)
      expect((await stream().last(erasureSubject(acme)))?.position).to.equal(upTo)
      const again = await stream().append([makeEvent('event-0')])
      expect(again.duplicates, 'it never was').to.equal(0)
      const opened = makeEvent('opened', { workspaceId: globex, subject: ledger })
      await stream().append([opened], { subject: ledger, position: beforeEvents })
    })

    it('is gone only up to the position', async () => {
      await erasing()
      await stream().erase(acme, at(1))
      const ids = idsOf(await readAll(stream()))
      expect(ids).to.deep.equal([left[0], 'acme.traces.event-3', ...left.slice(1)])
      expect(await stream().isLeft(acme)).to.equal(true)
    })

    it('says whether anything of it is left: what was broken off, and what came late', async () => {
      const upTo = await erasing()
      expect(await stream().isLeft(acme)).to.equal(true)
      await stream().erase(acme, upTo)
      expect(await stream().isLeft(acme)).to.equal(false)
      await stream().append([makeEvent('of another', { workspaceId: globex })])
      expect(await stream().isLeft(acme)).to.equal(false)
      await stream().append([makeEvent('late')])
      expect(await stream().isLeft(acme)).to.equal(true)
      await stream().erase(acme, upTo)
      expect(await stream().isLeft(acme), 'it came after that').to.equal(true)
      await erase('two')
      expect(await stream().isLeft(acme)).to.equal(false)
      expect((await readAll(stream())).filter(isErasure)).to.have.length(2)
      await stream().append([makeEvent('late, of a subject', { subject: ledger })])
      expect(await stream().isLeft(acme)).to.equal(true)
    })

    it('is seen to be left when it came while it was erased', async () => {
      const upTo = await erasing()
      const late = makeEvent('late')
      await Promise.all([stream().append([late]), stream().erase(acme, upTo)])
      expect(await stream().isLeft(acme)).to.equal(true)
      expect(idsOf(await readAll(stream()))).to.include(late.id)
    })

    it('lets others append meanwhile', async () => {
      const upTo = await erasing()
      const others = Array.from({ length: 20 }, (_, index) => makeEvent(`during-${index}`, { workspaceId: globex }))
      const appended = others.map((event) => stream().append([event]))
      await Promise.all([stream().erase(acme, upTo), ...appended])
      const ids = idsOf(await readAll(stream()))
      expect(ids).to.include.members(idsOf(others))
      expect(ids.filter((id) => id.startsWith('acme.'))).to.deep.equal(['acme.workspace.one'])
    })

    it('may be all that a log held', async () => {
      await erase()
      await stream().append([sealErasure(globex, { at: noon, unique: 'two' })])
      await stream().erase(globex, await stream().head())
      expect(idsOf(await readAll(stream(), 1))).to.deep.equal(['acme.workspace.one', 'globex.workspace.two'])
    })

    it('goes with a beginning that is cut off, which readers are told who have not had it', async () => {
      await erase()
      await stream().append([makeEvent('later', { workspaceId: globex })])
      await stream().cut(at(2))
      expect(await stream().first()).to.deep.include({ position: at(4), isCut: true })
      expect(await rejection(stream().read(at(0), 10))).to.be.instanceOf(PermanentError)
      expect(idsOf(await stream().read(at(2), 1))).to.deep.equal([left[1]])
      expect(idsOf(await readAll(stream()))).to.deep.equal([...left.slice(1), 'globex.traces.later'])
    })

    it('is no reason to take a beginning that was cut off for erased', async () => {
      await stream().cut(at(2))
      await erase()
      expect(idsOf(await readAll(stream()))).to.deep.equal(left.slice(1))
      expect(await rejection(stream().read(at(0), 10))).to.be.instanceOf(PermanentError)
      expect(idsOf(await stream().read(at(3), 1)), 'where the erased now is the beginning').to.deep.equal([left[1]])
    })
  })
}
