import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { crcOf } from '#src/events/codec.ts'
import { beforeAll as beforeEvents, besideId, noCounts, type NewEvent } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { ConflictError, readBytesMax, repeatWindowMs, type Stream } from '#streams/stream.ts'
import { makeEvent, makeEvents, noon } from '#test/support/make-event.ts'
import { idsOf, never, readAll, rejection, stored, withoutPosition } from '#test/support/read-all.ts'
import { cutClauses } from './stream-cut.ts'
import { eraseClauses } from './stream-erase.ts'
import { subjectClauses } from './stream-subjects.ts'

/** What an adapter's test gives to the contract: one log, and ways to get at what it has stored. */
export type StreamUnderTest = Readonly<{
  /** Opens the log; again, after a close, the same one where the adapter is durable. */
  open(): Promise<Stream>
  /** Ways to spoil what is stored at a place (0: the first event), where the storage can be reached. */
  damage?: Readonly<Record<'payload' | 'header' | 'row', (index: number) => void | Promise<void>>>
  cleanUp(): Promise<void>
}>
type StreamContractOptions = Readonly<{ durable: boolean; create(): Promise<StreamUnderTest> }>

function headerOf(event: NewEvent): Omit<NewEvent, 'payload'> {
  const { payload: _, ...header } = event
  return header
}

/** The contract of the port `Stream`: one test for each clause of its comments. */
export function streamContract(name: string, { durable, create }: StreamContractOptions): void {
  describe(`the stream contract: ${name}`, () => {
    let underTest: StreamUnderTest
    let stream: Stream

    beforeEach(async () => {
      underTest = await create()
      stream = await underTest.open()
    })
    afterEach(async () => {
      await stream.close()
      await underTest.cleanUp()
    })

    describe('append and read', () => {
      it('gives back every event as it was, header and payload, in order of append', async () => {
        const events = [
          makeEvent('plain'),
          makeEvent('full', {
            keyId: null,
            subject: 'subject-1',
            reservation: 'reservation-1',
            answer: '{"partialSuccess":{"rejectedSpans":"3","errorMessage":"Müller 支付 \\u0000"}}',
            counts: { spans: 1, logs: 2, rumEvents: 3, refused: 4, bytes: 5 },
            retentionClass: 'free',
            identified: false,
          }),
          makeEvent('binary', { payload: Buffer.from([0, 255, 10, 0, 128]) }),
          makeEvent('nothing', { payload: Buffer.alloc(0), counts: noCounts }),
          makeEvent('packed', { payload: Buffer.alloc(500_000, 'span ') }),
          makeEvent('directory', { type: 'directory.workspace.created', contentType: 'application/json' }),
        ]
        await stream.append(events.slice(0, 2))
        await stream.append(events.slice(2))
        expect((await readAll(stream)).map(withoutPosition)).to.deep.equal(events.map(stored))
      })

      it('gives positions that grow with every event, as the answers said', async () => {
        const first = await stream.append(makeEvents(3, 'a'))
        const second = await stream.append(makeEvents(2, 'b'))
        const positions = (await readAll(stream)).map(({ position }) => position)
        expect([...first.events, ...second.events]).to.deep.equal(positions.map((position) => ({ position })))
        expect([first.last, second.last]).to.deep.equal([positions[2], positions[4]])
        expect([first.duplicates, second.duplicates]).to.deep.equal([0, 0])
        expect(positions).to.deep.equal([...new Set(positions)].sort((a, b) => a - b))
        expect(positions[0]).to.be.greaterThan(beforeEvents)
      })

      it('keeps positions unique and growing, and calls whole, under concurrent appends', async () => {
        const calls = Array.from({ length: 60 }, (_, index) => makeEvents((index % 3) + 1, `call-${index}`))
        const answers = await Promise.all(calls.map((events) => stream.append(events)))
        const all = await readAll(stream, 7)
        const places = new Map(all.map(({ id, position }) => [id, position]))
        expect(all).to.have.length(calls.flat().length)
        for (const [index, events] of calls.entries()) {
          expect(answers[index]?.events.map(({ position }) => position)).to.deep.equal(
            events.map(({ id }) => places.get(id)),
          )
          const start = all.findIndex(({ id }) => id === events[0]?.id)
          expect(idsOf(all.slice(start, start + events.length)), 'neighbours').to.deep.equal(idsOf(events))
        }
        const positions = all.map(({ position }) => position)
        expect(positions).to.deep.equal([...new Set(positions)].sort((a, b) => a - b))
      })

      it('answers an empty call, and writes nothing', async () => {
        expect(await stream.append([])).to.deep.equal({ last: beforeEvents, duplicates: 0, events: [] })
        expect(await stream.head()).to.equal(beforeEvents)
      })

      it('leaves the caller its buffers, and does not look at them after the answer', async () => {
        const pool = Buffer.alloc(64, 'x')
        const slice = pool.subarray(8, 24)
        await stream.append([makeEvent('slice', { payload: slice })])
        expect(pool.toString()).to.equal('x'.repeat(64))
        pool.fill('y')
        const [event] = await stream.read(beforeEvents, 1)
        expect(Buffer.from(event?.payload ?? []).toString()).to.equal('x'.repeat(16))
      })

      it('refuses an event that could not be read back, alone, with its call', async () => {
        const spoilt = { ...makeEvent('spoilt'), crc: 1 }
        const unreadable = { ...makeEvent('unreadable'), contentType: 7 } as unknown as NewEvent
        const outcomes = await Promise.allSettled([
          stream.append([makeEvent('with-spoilt'), spoilt]),
          stream.append([makeEvent('with-unreadable'), unreadable]),
          stream.append([makeEvent('good')]),
        ])
        expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected', 'fulfilled'])
        for (const outcome of outcomes.slice(0, 2)) {
          expect((outcome as PromiseRejectedResult).reason).to.be.instanceOf(PermanentError)
        }
        expect(idsOf(await readAll(stream))).to.deep.equal(['acme.traces.good'])
      })
    })

    describe('an id that the log has taken within the hour', () => {
      it('is not written again, and is answered with the first event’s header and position', async () => {
        const first = makeEvent('same', { answer: '"first"' })
        const { last } = await stream.append([first])
        await stream.append([makeEvent('between')])
        const again = makeEvent('same', { receivedAt: noon + 5, answer: '"second"', payload: Buffer.from('other') })
        expect(await stream.append([again])).to.deep.equal({
          last,
          duplicates: 1,
          events: [{ position: last, repeated: headerOf(first) }],
        })
        expect((await readAll(stream)).map(withoutPosition)).to.deep.equal([first, makeEvent('between')].map(stored))
      })

      it('is so up to the hour by the two receipts, in both directions, and new at the hour', async () => {
        const at = (receivedAt: number): Promise<number> =>
          stream.append([makeEvent('same', { receivedAt })]).then(({ duplicates }) => duplicates)
        expect(await at(noon)).to.equal(0)
        expect(await at(noon + repeatWindowMs - 1)).to.equal(1)
        expect(await at(noon - repeatWindowMs + 1)).to.equal(1)
        expect(await at(noon + repeatWindowMs)).to.equal(0)
        expect(await at(noon + 2 * repeatWindowMs - 1), 'the second was new and counts from its own time').to.equal(1)
        expect((await readAll(stream)).map(({ receivedAt }) => receivedAt)).to.deep.equal([noon, noon + repeatWindowMs])
      })

      it('is found inside one call too', async () => {
        const events = [makeEvent('twice'), makeEvent('once'), makeEvent('twice', { receivedAt: noon + 1 })]
        const { last, duplicates, events: answers } = await stream.append(events)
        expect(idsOf(await readAll(stream))).to.deep.equal(['acme.traces.twice', 'acme.traces.once'])
        expect(duplicates).to.equal(1)
        expect(answers[2]).to.deep.equal({
          position: answers[0]?.position,
          repeated: headerOf(events[0] as NewEvent),
        })
        expect(last).to.equal(answers[1]?.position)
      })

      it('is found among calls under way, which take it once', async () => {
        const answers = await Promise.all(
          Array.from({ length: 20 }, () => stream.append([makeEvent('same'), makeEvent('same too')])),
        )
        expect(await readAll(stream)).to.have.length(2)
        expect(answers.reduce((sum, { duplicates }) => sum + duplicates, 0)).to.equal(38)
        expect(new Set(answers.map(({ last }) => last)).size).to.equal(1)
      })

      it('leaves what is new in its call to be written', async () => {
        await stream.append([makeEvent('old')])
        const { last, duplicates } = await stream.append([makeEvent('new'), makeEvent('old')])
        expect(duplicates).to.equal(1)
        expect(last).to.equal(await stream.head())
        expect(idsOf(await readAll(stream))).to.deep.equal(['acme.traces.old', 'acme.traces.new'])
      })

      it('takes what belongs beside it along: that is not written either, where it was not written with it', async () => {
        const [old, beside] = [makeEvent('old'), makeEvent(besideId('old'))]
        const { last } = await stream.append([old])
        expect(await stream.append([makeEvent('old', { receivedAt: noon + 5 }), beside])).to.deep.equal({
          last,
          duplicates: 2,
          events: [
            { position: last, repeated: headerOf(old) },
            { position: last, repeated: headerOf(old) },
          ],
        })
        const both = [makeEvent('both'), makeEvent(besideId('both'))]
        expect((await stream.append(both)).duplicates).to.equal(0)
        expect((await stream.append([makeEvent(besideId('alone'))])).duplicates).to.equal(0)
        const again = await stream.append(both)
        expect(again.events.map(({ repeated }) => repeated)).to.deep.equal(both.map(headerOf))
        const written = ['old', 'both', besideId('both'), besideId('alone')].map((name) => `acme.traces.${name}`)
        expect(idsOf(await readAll(stream))).to.deep.equal(written)
      })

      it('is another in another workspace, with an equal hash', async () => {
        const other = makeEvent('same', { workspaceId: workspaceIdOf('globex') })
        await stream.append([makeEvent('same')])
        expect((await stream.append([other])).duplicates).to.equal(0)
        expect(idsOf(await readAll(stream))).to.deep.equal(['acme.traces.same', 'globex.traces.same'])
      })
    })

    subjectClauses(() => stream)
    const reopened = async (): Promise<Stream> => {
      await stream.close()
      stream = await underTest.open()
      return stream
    }
    cutClauses(() => stream, durable ? reopened : undefined)
    eraseClauses(() => stream, durable ? reopened : undefined)

    describe('find', () => {
      it('gives header and position of the ids within the hour before now, and leaves the rest out', async () => {
        const event = makeEvent('known')
        const { last } = await stream.append([event])
        const found = await stream.find([event.id, 'acme.traces.unknown'], noon + repeatWindowMs - 1)
        expect([...found]).to.deep.equal([[event.id, { ...headerOf(event), position: last }]])
        expect([...(await stream.find([event.id], noon + repeatWindowMs))]).to.deep.equal([])
        expect(
          [...(await stream.find([event.id], noon - repeatWindowMs))],
          'by a clock that was set back',
        ).to.deep.equal([])
        expect([...(await stream.find([], noon))]).to.deep.equal([])
      })

      it('gives the newest of two', async () => {
        const later = makeEvent('same', { receivedAt: noon + repeatWindowMs })
        await stream.append([makeEvent('same')])
        const { last } = await stream.append([later])
        const found = await stream.find([later.id], noon + repeatWindowMs - 1)
        expect(found.get(later.id)).to.deep.equal({ ...headerOf(later), position: last })
      })
    })

    describe('read', () => {
      it('gives at most `max` events after a position, and none when caught up', async () => {
        const { events } = await stream.append(makeEvents(5))
        const third = events[2]?.position ?? 0
        expect(idsOf(await stream.read(beforeEvents, 2))).to.deep.equal(['acme.traces.event-0', 'acme.traces.event-1'])
        expect(idsOf(await stream.read(third, 10))).to.deep.equal(['acme.traces.event-3', 'acme.traces.event-4'])
        expect(await stream.read(await stream.head(), 10)).to.deep.equal([])
      })

      it('is empty on an empty log', async () => {
        expect(await stream.read(beforeEvents, 10)).to.deep.equal([])
      })

      it('gives about 8 MiB of payload at most, but at least one event', async () => {
        const mib = 1024 * 1024
        const sizes = [3, 3, 3, 9, 1].map((size) => size * mib)
        for (const [index, size] of sizes.entries()) {
          // Put together by hand: packed, these would be small.
          const payload = Buffer.alloc(size, index)
          const event: NewEvent = { ...makeEvent(`large-${index}`), encoding: '', payload, crc: crcOf(payload) }
          await stream.append([event])
        }
        const lengths: number[] = []
        for (let position = beforeEvents; ;) {
          const events = await stream.read(position, 100)
          if (events.length === 0) break
          const bytes = events.reduce((sum, { payload }) => sum + payload.length, 0)
          if (events.length > 1) expect(bytes).to.be.at.most(readBytesMax + mib)
          lengths.push(...events.map(({ payload }) => payload.length))
          position = events.at(-1)?.position ?? 0
        }
        expect(lengths).to.deep.equal(sizes)
        expect(await stream.read(beforeEvents, 100)).to.have.length.below(5)
      })

      it('rejects a position beyond the head: the log has lost its tail', async () => {
        const { last } = await stream.append(makeEvents(2))
        expect(await rejection(stream.read(last + 4096, 10))).to.be.instanceOf(PermanentError)
      })
    })

    describe('changed', () => {
      it('resolves at once when there is an event after the position', async () => {
        const { last } = await stream.append([makeEvent('one')])
        await stream.changed(beforeEvents, never())
        await stream.changed(last - 1, never())
      })

      it('waits at the head, and resolves with the next event', async () => {
        const { last } = await stream.append([makeEvent('one')])
        let woken = false
        const waits = [1, 2].map(() => stream.changed(last, never()))
        const first = Promise.race(waits).then(() => (woken = true))
        await stream.read(last, 10)
        // One that resolves too soon has its turn to be heard.
        for (let turn = 0; turn < 2; turn++) await setImmediate()
        expect(woken, 'nothing has come').to.equal(false)
        await stream.append([makeEvent('two')])
        await Promise.all([...waits, first])
      })

      it('resolves when the signal aborts, before or after', async () => {
        const controller = new AbortController()
        const waiting = stream.changed(beforeEvents, controller.signal)
        controller.abort()
        await waiting
        await stream.changed(beforeEvents, controller.signal)
      })
    })

    describe('head', () => {
      it('is `beforeAll` of an empty log, then the position of the last event', async () => {
        expect(await stream.head()).to.equal(beforeEvents)
        const { last } = await stream.append(makeEvents(3))
        expect(await stream.head()).to.equal(last)
      })
    })

    describe('close', () => {
      it('settles the appends under way, wakes who waits, and lets nothing more in', async () => {
        const waiting = stream.changed(beforeEvents + 4096 * 1000, never())
        const append = stream.append([makeEvent('under way')])
        await Promise.all([stream.close(), stream.close()])
        await append
        await waiting
        const calls = [
          stream.append([makeEvent('late')]),
          stream.read(0, 1),
          stream.head(),
          stream.find([], noon),
          stream.last('x'),
        ]
        for (const call of calls) expect(await rejection(call)).to.be.instanceOf(TransientError)
        await stream.changed(beforeEvents, never())
      })
    })

    it('has a partition and an epoch, another one for another log', async () => {
      const other = await create()
      const second = await other.open()
      expect(stream.partition).to.equal(second.partition)
      expect(stream.epoch).to.be.a('string').with.length.above(15)
      expect(stream.epoch).not.to.equal(second.epoch)
      await second.close()
      await other.cleanUp()
    })

    if (durable) durableClauses()

    function durableClauses(): void {
      it('keeps events, positions, epoch, ids and subjects over a reopening', async () => {
        const { last } = await stream.append([makeEvent('kept', { subject: 'order-1' })])
        const before = await readAll(stream)
        const { epoch } = stream
        await reopened()
        expect(await readAll(stream)).to.deep.equal(before)
        expect([stream.epoch, await stream.head()]).to.deep.equal([epoch, last])
        expect((await stream.last('order-1'))?.position).to.equal(last)
        expect((await stream.append([makeEvent('kept')])).duplicates).to.equal(1)
        const expected = { subject: 'order-1', position: beforeEvents }
        expect(await rejection(stream.append([makeEvent('new')], expected))).to.be.instanceOf(ConflictError)
        const next = await stream.append([makeEvent('next')], { subject: 'order-1', position: last })
        expect(next.last).to.be.greaterThan(last)
      })

      for (const part of ['payload', 'header'] as const) {
        it(`does not give a subject’s newest event with a damaged ${part}`, async () => {
          await stream.append([makeEvent('first'), makeEvent('spoilt', { subject: 'order-1' })])
          await underTest.damage?.[part](1)
          await reopened()
          expect(await rejection(stream.last('order-1'))).to.be.instanceOf(PermanentError)
        })
      }

      for (const part of ['payload', 'header', 'row'] as const) {
        it(`gives what is whole before a damaged ${part}, and rejects at the damage`, async () => {
          const { events } = await stream.append(makeEvents(3))
          await underTest.damage?.[part](1)
          await reopened()
          expect(idsOf(await stream.read(beforeEvents, 10))).to.deep.equal(['acme.traces.event-0'])
          const failure = await rejection(stream.read(events[0]?.position ?? 0, 10))
          expect(failure).to.be.instanceOf(PermanentError)
          expect(idsOf(await stream.read(events[1]?.position ?? 0, 10))).to.deep.equal(['acme.traces.event-2'])
        })
      }
    }
  })
}
