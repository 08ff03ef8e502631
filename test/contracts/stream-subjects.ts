import { expect } from 'chai'
import { beforeAll as beforeEvents, type NewEvent } from '#src/events/envelope.ts'
import { ConflictError, type Stream } from '#streams/stream.ts'
import { makeEvent } from '#test/support/make-event.ts'
import { idsOf, readAll, rejection, stored, withoutPosition } from '#test/support/read-all.ts'

/** The clauses of the port `Stream` about subjects: expected positions, and the newest event. */
export function subjectClauses(stream: () => Stream): void {
  describe('append with an expected position', () => {
    const about = (name: string, subject = 'order-1'): NewEvent => makeEvent(name, { subject })

    it('writes when the subject’s last event stands there, whatever else was written since', async () => {
      const { last } = await stream().append([about('first')], { subject: 'order-1', position: beforeEvents })
      await stream().append([about('other', 'order-2'), makeEvent('free')])
      await stream().append([about('second')], { subject: 'order-1', position: last })
      expect(await readAll(stream())).to.have.length(4)
    })

    it('else rejects with ConflictError and writes nothing of the call', async () => {
      const { last } = await stream().append([about('first')])
      const wrong = [beforeEvents, last + 4096, last - 1, last + 1]
      for (const position of wrong) {
        const call = stream().append([makeEvent(`lost-${position}`), about(`late-${position}`)], {
          subject: 'order-1',
          position,
        })
        expect(await rejection(call)).to.be.instanceOf(ConflictError)
      }
      expect(await rejection(stream().append([about('x')], { subject: 'nobody', position: last }))).to.be.instanceOf(
        ConflictError,
      )
      expect(idsOf(await readAll(stream()))).to.deep.equal(['acme.traces.first'])
    })

    it('lets one of many at once through, and calls beside them', async () => {
      const racers = Array.from({ length: 10 }, (_, index) =>
        stream().append([about(`racer-${index}`)], { subject: 'order-1', position: beforeEvents }),
      )
      const bystander = stream().append([makeEvent('bystander')])
      const outcomes = await Promise.allSettled(racers)
      await bystander
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(1)
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).to.be.instanceOf(ConflictError)
      }
      expect(await readAll(stream())).to.have.length(2)
    })

    it('may expect of another subject than that of its events, and any number of calls may at once', async () => {
      const { last } = await stream().append([about('opened')])
      const expected = { subject: 'order-1', position: last }
      await Promise.all([
        stream().append([makeEvent('free-1')], expected),
        stream().append([makeEvent('free-2')], expected),
        stream().append([about('of another', 'order-2')], expected),
      ])
      const nothing = { subject: 'order-3', position: beforeEvents }
      await stream().append([makeEvent('free-3'), about('of another still', 'order-2')], nothing)
      await stream().append([about('closed')])
      for (const late of [makeEvent('late'), about('late too', 'order-2'), about('late as well')]) {
        expect(await rejection(stream().append([late], expected))).to.be.instanceOf(ConflictError)
      }
      expect(await readAll(stream())).to.have.length(7)
    })

    it('lets nothing through behind the event that moves the subject on, however many calls are under way', async () => {
      const { last } = await stream().append([about('opened')])
      const expected = { subject: 'order-1', position: last }
      const spends = Array.from({ length: 20 }, (_, index) => stream().append([makeEvent(`spend-${index}`)], expected))
      const closing = stream().append([about('closed')], expected)
      const more = Array.from({ length: 20 }, (_, index) => stream().append([makeEvent(`more-${index}`)], expected))
      const outcomes = await Promise.allSettled([...spends, ...more])
      const { last: closed } = await closing
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).to.be.instanceOf(ConflictError)
        else expect(outcome.value.last).to.be.below(closed)
      }
      expect((await readAll(stream())).at(-1)?.subject).to.equal('order-1')
    })

    it('answers a retry of what was written, though the subject has moved on', async () => {
      const expected = { subject: 'order-1', position: beforeEvents }
      const { last } = await stream().append([about('first')], expected)
      await stream().append([about('second')])
      expect(await stream().append([about('first')], expected)).to.deep.include({ last, duplicates: 1 })
    })

    it('takes a call for a retry only where all of it was written: else the subject must not have moved on', async () => {
      const expected = { subject: 'order-1', position: beforeEvents }
      await stream().append([about('first')], expected)
      await stream().append([about('second')])
      const more = stream().append([about('first'), makeEvent('more')], expected)
      expect(await rejection(more)).to.be.instanceOf(ConflictError)
      expect(idsOf(await readAll(stream()))).to.not.include(makeEvent('more').id)
    })
  })

  describe('last', () => {
    it('gives the newest event of the subject, whole, and nothing of an unknown one', async () => {
      const newest = makeEvent('second', { subject: 'order-1', payload: Buffer.from('newest') })
      await stream().append([makeEvent('first', { subject: 'order-1' }), makeEvent('other', { subject: 'order-2' })])
      const { last } = await stream().append([newest])
      await stream().append([makeEvent('free')])
      const found = await stream().last('order-1')
      expect(found?.position).to.equal(last)
      expect(found === undefined ? undefined : withoutPosition(found)).to.deep.equal(stored(newest))
      expect(await stream().last('order-3')).to.equal(undefined)
      expect(await stream().last('order')).to.equal(undefined)
    })

    it('sees each event as soon as it is acknowledged', async () => {
      for (let round = 0; round < 20; round++) {
        const { last } = await stream().append([makeEvent(`round-${round}`, { subject: 'order-1' })])
        expect((await stream().last('order-1'))?.position).to.equal(last)
      }
    })

    it('takes any text for a subject, and tells them apart', async () => {
      const subjects = ['a.b', 'a.*', 'a.>', 'a b', 'A.b', 'a..b', '.', '支付 ü', "'; DROP", 'x'.repeat(200)]
      for (const [index, subject] of subjects.entries()) await stream().append([makeEvent(`of-${index}`, { subject })])
      const found = await Promise.all(subjects.map((subject) => stream().last(subject)))
      expect(found.map((event) => event?.subject)).to.deep.equal(subjects)
    })
  })
}
