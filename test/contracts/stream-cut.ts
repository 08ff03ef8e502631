import { expect } from 'chai'
import { beforeAll as beforeEvents, positionStep } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import { makeEvent, makeEvents, noon } from '#test/support/make-event.ts'
import { idsOf, readAll, rejection } from '#test/support/read-all.ts'

/** Clauses of the port about the beginning of a log, and about cutting it off. `reopen` closes it and opens it again. */
export function cutClauses(stream: () => Stream, reopen: (() => Promise<Stream>) | undefined): void {
  describe('the beginning, and what is cut off', () => {
    const subject = 'allowance.acme.2026-11'
    let positions: number[]

    beforeEach(async () => {
      positions = []
      for (let index = 0; index < 6; index++) {
        const fields = { receivedAt: noon + index, ...(index % 3 === 1 ? { subject } : {}) }
        positions.push((await stream().append([makeEvent(`event-${index}`, fields)])).last)
      }
    })
    const at = (index: number): number => positions[index] ?? Number.NaN
    const ids = (...indices: readonly number[]): string[] => indices.map((index) => `acme.traces.event-${index}`)

    it('says which event is the first, and whether there were others', async () => {
      expect(await stream().first()).to.deep.equal({ position: at(0), receivedAt: noon, isCut: false })
      await stream().cut(at(2))
      expect(await stream().first()).to.deep.equal({ position: at(3), receivedAt: noon + 3, isCut: true })
    })

    it('is gone up to the position, for readers who begin; the rest stands where it stood', async () => {
      await stream().cut(at(2))
      const left = await readAll(stream(), 2)
      expect(idsOf(left)).to.deep.equal(ids(3, 4, 5))
      expect(left.map(({ position }) => position)).to.deep.equal(positions.slice(3))
      expect(idsOf(await stream().read(at(2), 1))).to.deep.equal(ids(3))
      expect(idsOf(await stream().read(at(4), 9))).to.deep.equal(ids(5))
      expect(await stream().head()).to.equal(at(5))
    })

    it('is told to readers who have not had it', async () => {
      await stream().cut(at(2))
      for (const after of [at(0), at(1)]) {
        const error = await rejection(stream().read(after, 10))
        expect(error).to.be.instanceOf(PermanentError)
        expect(error.message).to.match(/events that this reader has not had were cut/)
      }
    })

    it('takes nothing else, where the position is of no event, before all or before what is left', async () => {
      await stream().cut(beforeEvents)
      expect(await readAll(stream())).to.have.length(6)
      await stream().cut(at(2) - 1)
      expect(idsOf(await readAll(stream()))).to.deep.equal(ids(2, 3, 4, 5))
      await stream().cut(at(0))
      expect(idsOf(await readAll(stream()))).to.deep.equal(ids(2, 3, 4, 5))
    })

    it('is never all of the log: positions go on, and are not used again', async () => {
      for (const upTo of [at(5), at(5) + 100 * positionStep]) {
        await stream().cut(upTo)
        expect(idsOf(await readAll(stream()))).to.deep.equal(ids(5))
      }
      const { last } = await stream().append([makeEvent('next')])
      expect(last).to.be.greaterThan(at(5))
      expect(idsOf(await stream().read(at(5), 1))).to.deep.equal(['acme.traces.next'])
    })

    it('is not found by subject or id any more, and what is left is', async () => {
      await stream().cut(at(2))
      expect((await stream().last(subject))?.position).to.equal(at(4))
      await stream().append([makeEvent('end', { receivedAt: noon + 9 })])
      await stream().cut(at(5))
      expect(await stream().last(subject)).to.equal(undefined)
      const found = await stream().find(['acme.traces.event-1', 'acme.traces.end'], noon + 10)
      expect([...found.keys()]).to.deep.equal(['acme.traces.end'])
    })

    it('leaves a subject as if nothing had been on it, when all of it is gone', async () => {
      await stream().cut(at(4))
      const { last } = await stream().append([makeEvent('anew', { subject })], { subject, position: beforeEvents })
      expect((await stream().last(subject))?.position).to.equal(last)
    })

    it('takes an id of the hour again, once its event is gone', async () => {
      await stream().cut(at(2))
      const again = await stream().append([makeEvent('event-1', { receivedAt: noon + 20 })])
      expect(again.duplicates).to.equal(0)
      expect((await stream().append([makeEvent('event-3', { receivedAt: noon + 20 })])).duplicates).to.equal(1)
    })

    it('goes on beside appends and reads', async () => {
      const appended = Promise.all(makeEvents(20, 'more').map((event) => stream().append([event])))
      /** Whose next event is cut off between two of its reads is told so, and begins anew. */
      const readOnce = () =>
        readAll(stream(), 3).catch((error: unknown) => {
          expect(String(error)).to.include('events that this reader has not had were cut')
          return readAll(stream(), 3)
        })
      const [, reads] = await Promise.all([stream().cut(at(3)), Promise.all([0, 1, 2].map(readOnce))])
      await appended
      expect(await readAll(stream())).to.have.length(22)
      for (const read of reads) expect(idsOf(read)).to.include.members(ids(4, 5))
    })

    it('keeps events of one message together', async () => {
      const call = makeEvents(3, 'call').map((event) => ({ ...event, identified: false }))
      const { events } = await stream().append(call)
      await stream().cut(events[0]?.position ?? 0)
      const kept = idsOf(await readAll(stream()))
      expect(kept.slice(-2)).to.deep.equal(idsOf(call).slice(1))
      expect(kept).to.not.include('acme.traces.event-5')
    })

    if (reopen !== undefined) {
      it('is the same when the log is opened again', async () => {
        await stream().cut(at(2))
        const opened = await reopen()
        expect((await opened.first())?.position).to.equal(at(3))
        expect(idsOf(await readAll(opened))).to.deep.equal(ids(3, 4, 5))
        expect(await rejection(opened.read(at(0), 1))).to.be.instanceOf(PermanentError)
      })
    }
  })

  it('the only event of a log is its first', async () => {
    const { last } = await stream().append([makeEvent('only')])
    expect(await stream().first()).to.deep.equal({ position: last, receivedAt: noon, isCut: false })
  })

  it('an empty log has no first event, and cutting it changes nothing', async () => {
    expect(await stream().first()).to.equal(undefined)
    await stream().cut(7 * positionStep)
    expect(await stream().first()).to.equal(undefined)
    await stream().append([makeEvent('one')])
    expect(await readAll(stream())).to.have.length(1)
  })
}
