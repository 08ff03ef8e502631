import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { sealErasure } from '#src/events/erasure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { eventAt } from '#projections/folding/log-tail.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { provisionLogs } from '#streams/jetstream/provision.ts'
import { messageBytes, packEvent } from '#streams/jetstream/message.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { makeJetStreamLog, removeLogs, testProvision, type JetStreamLog } from './jetstream-log.ts'
import { makeEvent, makeEvents, makeLarge, makeLine } from '../support/make-event.ts'
import { idsOf, never, readAll, rejection, withoutPosition } from '../support/read-all.ts'

describe('the JetStream log', function () {
  let log: JetStreamLog
  let stream: Stream
  /** Another process, as far as the server can tell. */
  let otherNats: Nats
  let other: Stream

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    log = await makeJetStreamLog()
    stream = await log.open()
    otherNats = await connectNats({ url: await natsEngine() })
    other = await openJetStream(otherNats, { partition: '0', prefix: log.prefix, limits })
  })
  afterEach(async () => {
    await Promise.all([stream.close(), other.close()])
    await otherNats.close()
    await log.remove()
  })

  const messages = (): Promise<number> => log.messages()

  describe('of two processes', () => {
    it('is not cut off where that cannot be noted: what is missing without a note is damage', async () => {
      const { last } = await stream.append(makeEvents(3))
      const request: Nats['request'] = async (subject, ...more) => {
        if (!subject.startsWith('$JS.API.STREAM.UPDATE.')) return otherNats.request(subject, ...more)
        throw new TransientError({ operation: 'ask', subject })
      }
      const noting = await openJetStream({ ...otherNats, request }, { partition: '0', prefix: log.prefix, limits })
      expect((await rejection(noting.cut(last))).name).to.equal('TransientError')
      await noting.close()
      expect(await readAll(stream)).to.have.length(3)
    })

    it('takes an id once that both append at the same time, and answers both alike', async () => {
      const calls = Array.from({ length: 100 }, (_, index) => [makeEvent(`race-${index}`)])
      const answers = await Promise.all(calls.flatMap((events) => [stream.append(events), other.append(events)]))
      expect(new Set(idsOf(await readAll(stream))).size).to.equal(100)
      expect(await stream.head()).to.equal(100 * 4096)
      for (let index = 0; index < calls.length; index++) {
        const [first, second] = answers.slice(2 * index, 2 * index + 2)
        expect(first?.last).to.equal(second?.last)
        expect((first?.duplicates ?? 0) + (second?.duplicates ?? 0)).to.equal(1)
      }
    })

    it('takes calls of several events whole, and each id of them once, where they overlap', async () => {
      const calls = Array.from({ length: 30 }, (_, index) =>
        [0, 1, 2].map((offset) => makeEvent(`overlap-${index + offset}`)),
      )
      await Promise.all(calls.map((events, index) => (index % 2 === 0 ? stream : other).append(events)))
      const ids = idsOf(await readAll(stream))
      expect(ids).to.have.length(32)
      expect(new Set(ids).size).to.equal(32)
    })

    it('sees in one what the other has acknowledged, at once', async () => {
      for (let round = 0; round < 20; round++) {
        const event = makeEvent(`seen-${round}`, { subject: 'seen' })
        const { last } = await other.append([event])
        expect((await stream.find([event.id], event.receivedAt)).get(event.id)?.position).to.equal(last)
        expect((await stream.last('seen'))?.position).to.equal(last)
        expect(await stream.head()).to.equal(last)
        expect((await stream.read(last - 4096, 10)).map(({ position }) => position)).to.deep.equal([last])
      }
    })

    it('lets one of two through that expect the same of a subject', async () => {
      for (let round = 0; round < 20; round++) {
        const position = (await stream.last('turn'))?.position ?? 0
        const outcomes = await Promise.allSettled(
          [stream, other].map((each, index) =>
            each.append([makeEvent(`turn-${round}-${index}`, { subject: 'turn' })], { subject: 'turn', position }),
          ),
        )
        expect(outcomes.map(({ status }) => status).toSorted()).to.deep.equal(['fulfilled', 'rejected'])
      }
    })

    it('is told of new events by the server, without asking for the head meanwhile', async () => {
      let asked = 0
      const counted: Nats = {
        ...otherNats,
        request: (subject, data, fields) => {
          if (subject.includes('.STREAM.INFO.')) asked++
          return otherNats.request(subject, data, fields)
        },
      }
      const follower = await openJetStream(counted, { partition: '0', prefix: log.prefix, limits })
      const controller = new AbortController()
      // The first wait listens, and looks once whether it has missed something.
      const first = follower.changed(0, never())
      const { last } = await stream.append([makeEvent('first')])
      await first
      expect(await follower.read(last, 10), 'after that look').to.deep.equal([])
      let position = last
      let looks: number
      // It looks once a second in case it was told nothing: where the server takes that long, once more. Who always looks never ends.
      do {
        const before = asked
        const waiting = follower.changed(position, controller.signal)
        ;({ last: position } = await stream.append([makeEvent(`after-${position}`)]))
        await waiting
        looks = asked - before
      } while (looks > 0)
      await follower.close()
    })
  })

  it('has settled what was under way when it is closed', async () => {
    let settled = 0
    const calls = [makeEvent('identified'), makeLine('line')].map((event) =>
      stream.append([event]).then(() => settled++),
    )
    await stream.close()
    expect(settled).to.equal(2)
    await Promise.all(calls)
  })

  it('believes what the server has announced, not an older answer that comes after it', async () => {
    let asked = 0
    let onAsked = async (): Promise<void> => undefined
    let onHeard = (): void => undefined
    const slow: Nats = {
      ...otherNats,
      request: async (subject, data, fields) => {
        const answer = await otherNats.request(subject, data, fields)
        if (!subject.includes('.STREAM.INFO.')) return answer
        asked++
        await onAsked()
        return answer
      },
      subscribe: (subject, listener) =>
        otherNats.subscribe(subject, (received) => {
          listener(received)
          onHeard()
        }),
    }
    const follower = await openJetStream(slow, { partition: '0', prefix: log.prefix, limits })
    const first = follower.changed(0, never())
    const { last } = await stream.append([makeEvent('first')])
    await first
    expect(await follower.read(last, 10), 'after its first look at the head').to.deep.equal([])
    // It finds nothing behind the first event, and is told so only when it has heard of the second.
    const heard = Promise.withResolvers<void>()
    onAsked = async () => {
      onHeard = heard.resolve
      await stream.append([makeEvent('second')])
      await heard.promise
    }
    expect(await follower.read(last, 10)).to.deep.equal([])
    const looks = asked
    await follower.changed(last, never())
    expect(asked).to.equal(looks)
    await follower.close()
  })

  describe('an event larger than a message may be', () => {
    const bytes = 20 * 1024 * 1024

    it('is stored in parts, in one step, and is one event to whoever asks', async () => {
      const large = makeLarge('large', bytes, { subject: 'large' })
      await stream.append([makeEvent('before')])
      const { last } = await stream.append([large], { subject: 'large', position: 0 })
      const { last: end } = await stream.append([makeEvent('after')], { subject: 'large', position: last })
      expect(await messages()).to.equal(5)
      expect((await readAll(stream)).map(withoutPosition)).to.deep.equal([
        makeEvent('before'),
        large,
        makeEvent('after'),
      ])
      expect((await stream.last('large'))?.payload.length).to.equal(bytes)
      expect((await stream.find([large.id], large.receivedAt)).get(large.id)?.position).to.equal(last)
      const again = await other.append([large])
      expect([again.last, again.duplicates]).to.deep.equal([last, 1])
      expect(await stream.head()).to.equal(end)
    })

    it('is cut off whole, or stays whole, and stays when it is the last', async () => {
      await stream.append([makeEvent('before')])
      const { last } = await stream.append([makeLarge('large', bytes)])
      const middle = last - 4096
      await stream.cut(middle)
      expect(idsOf(await readAll(stream))).to.deep.equal(['acme.traces.large'])
      await stream.cut(last)
      expect(await stream.first()).to.deep.include({ position: last, isCut: true })
      await stream.append([makeEvent('after')])
      await stream.cut(middle)
      expect(idsOf(await readAll(other))).to.deep.equal(['acme.traces.large', 'acme.traces.after'])
      await stream.cut(last)
      expect(idsOf(await readAll(other))).to.deep.equal(['acme.traces.after'])
      expect(await messages()).to.equal(1)
    })

    it('is read by who asks for what comes right before it, as a projector that starts does', async () => {
      await stream.append([makeEvent('before')])
      const { last } = await stream.append([makeLarge('large', bytes)])
      expect(idsOf(await other.read(last - 1, 10))).to.deep.equal(['acme.traces.large'])
      expect((await eventAt(other, last))?.position).to.equal(last)
      await stream.append([makeEvent('after')])
      expect(idsOf(await other.read(last - 4096, 10)), 'from its middle').to.deep.equal(['acme.traces.large'])
      expect(idsOf(await other.read(last, 10))).to.deep.equal(['acme.traces.after'])
    })

    it('is read where another workspace was erased before it', async () => {
      const erased = makeEvent('erased', { workspaceId: workspaceIdOf('gone') })
      await stream.append([makeEvent('before')])
      await stream.append([erased])
      await stream.append([makeLarge('large', bytes)])
      const unique = '0'.repeat(32)
      const { last } = await stream.append([sealErasure(erased.workspaceId, { at: erased.receivedAt, unique })])
      await stream.erase(erased.workspaceId, last)
      const names = (await readAll(other)).map(({ id }) => id)
      expect(names.slice(0, -1)).to.deep.equal(['acme.traces.before', 'acme.traces.large'])
    })

    it('goes with others of its call, or not at all', async () => {
      const calls = [
        [makeLarge('large', bytes), makeEvent('beside')],
        [makeEvent('known'), makeLarge('other', bytes)],
      ]
      const [first] = await Promise.all([stream.append(calls[0] ?? []), stream.append([makeEvent('known')])])
      expect(idsOf(await stream.read(first.events[0]?.position ?? 0, 1))).to.deep.equal(['acme.traces.beside'])
      const expected = { subject: 'nobody', position: 4096 }
      expect((await rejection(stream.append(calls[1] ?? [], expected))).name).to.equal('ConflictError')
      expect(await messages()).to.equal(3 + 1 + 1)
      const { events } = await stream.append([makeEvent('ahead'), makeLarge('behind', bytes)])
      const positions = (await readAll(stream)).map(({ position }) => position)
      expect(positions.slice(-2)).to.deep.equal(events.map(({ position }) => position))
    })

    it('is refused for good when no step could hold it, and nothing of it is stored', async () => {
      const tight: Nats = { ...log.nats, payloadBytesMax: () => 8 * 1024 }
      const narrow = await openJetStream(tight, { partition: '0', prefix: log.prefix, limits })
      const failure = await rejection(narrow.append([makeLarge('too large', 3 * 1024 * 1024)]))
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure.message).to.match(/max_payload/)
      expect(await messages()).to.equal(0)
      await narrow.close()
    })

    it('is refused, and nothing of it is stored, while the server was started again with messages that hold no event', async () => {
      let bytesMax = log.nats.payloadBytesMax()
      const narrowed: Nats = { ...log.nats, payloadBytesMax: () => bytesMax }
      const narrow = await openJetStream(narrowed, { partition: '0', prefix: log.prefix, limits })
      bytesMax = 2 * 1024
      for (const identified of [true, false]) {
        const failure = await rejection(narrow.append([makeEvent('small', { identified })]))
        expect(failure).to.be.instanceOf(TransientError)
        expect(failure.message).to.match(/at most 2048 bytes .*raise its max_payload/)
      }
      expect(await messages()).to.equal(0)
      bytesMax = log.nats.payloadBytesMax()
      await narrow.append([makeEvent('small')])
      expect(idsOf(await readAll(stream))).to.deep.equal(['acme.traces.small'])
      await narrow.close()
    })
  })

  describe('what another hand has done to it', () => {
    const subject = (epoch: string): string => `${log.prefix}-telemetry.0.${epoch}.acme.spans.received`

    it('is found where a message is none of ours: what is before it and after it can be read', async () => {
      await stream.append([makeEvent('before')])
      await log.nats.request(subject(stream.epoch), 'nothing that we wrote')
      await stream.append([makeEvent('after')])
      expect(idsOf(await stream.read(0, 10))).to.deep.equal(['acme.traces.before'])
      expect(await rejection(stream.read(4096, 10))).to.be.instanceOf(PermanentError)
      expect(idsOf(await stream.read(2 * 4096, 10))).to.deep.equal(['acme.traces.after'])
    })

    it('is found where an event lacks its first parts', async () => {
      await stream.append([makeEvent('before')])
      await log.nats.request(subject(stream.epoch), 'the end of an event', { 'Throughline-Part': '2/2' })
      expect(idsOf(await stream.read(0, 10))).to.deep.equal(['acme.traces.before'])
      expect((await rejection(stream.read(4096, 10))).message).to.match(/message 2 .*parts of its event are missing/)
    })

    it('is found when messages were purged, which is no cut of ours: at the start, and up to the end', async () => {
      await stream.append(makeEvents(4))
      await log.ask(`STREAM.PURGE.${log.name}`, { seq: 3 })
      expect((await rejection(stream.read(4096, 10))).message).to.match(/message 2 .*missing/)
      expect((await rejection(stream.read(0, 10))).message).to.match(
        /message 1 .*missing: the next one is 3; .*ALLOW_LOST_LOG=1/,
      )
      expect(await stream.read(2 * 4096, 10)).to.have.length(2)
      await log.ask(`STREAM.PURGE.${log.name}`)
      const failure = await rejection(other.read(3 * 4096, 10))
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure.message).to.match(
        /message 4 .*missing.*, to go on without what is missing, start project with ALLOW_LOST_LOG=1/,
      )
    })

    it('leaves an id free whose event was purged', async () => {
      const event = makeEvent('erased')
      await stream.append([event, makeEvent('other')])
      await log.ask(`STREAM.PURGE.${log.name}`, { filter: subject(stream.epoch) })
      expect([...(await stream.find([event.id], event.receivedAt))]).to.deep.equal([])
      const { last, duplicates } = await stream.append([event])
      expect(duplicates).to.equal(0)
      expect(await other.append([event])).to.deep.include({ last, duplicates: 1 })
      expect((await stream.find([event.id], event.receivedAt)).get(event.id)?.position).to.equal(last)
    })

    it('is told to a reader and a writer whose log was made anew, and the new log gets nothing of theirs', async () => {
      const { last } = await stream.append(makeEvents(3))
      await removeLogs(log.nats, log.prefix)
      await provisionLogs(log.nats, { ...testProvision, prefix: log.prefix })
      const renewed = await log.open()
      expect(renewed.epoch).not.to.equal(stream.epoch)
      const calls = [
        stream.append([makeEvent('identified')]),
        stream.append([makeLine('line')]),
        stream.append([makeEvent('expecting')], { subject: 'x', position: 0 }),
        stream.find(['acme.traces.event-0'], Date.now()),
        stream.read(0, 10),
        stream.read(last, 10),
        stream.head(),
      ]
      for (const failure of await Promise.all(calls.map(rejection))) {
        expect(failure).to.be.instanceOf(PermanentError)
        expect(failure.message).to.match(/made anew/)
      }
      expect(await renewed.head()).to.equal(0)
      await renewed.append(makeEvents(5))
      for (const position of [0, last]) {
        expect((await rejection(stream.read(position, 10))).message).to.match(/made anew/)
      }
      await renewed.close()
    })

    it('is said as something that may pass when the stream is gone', async () => {
      await removeLogs(log.nats, log.prefix)
      const calls = [stream.append([makeEvent('x')]), stream.append([makeLine('y')]), stream.read(0, 1), stream.head()]
      for (const failure of await Promise.all(calls.map(rejection))) expect(failure).to.be.instanceOf(TransientError)
    })
  })

  describe('when there is too much', () => {
    it('refuses what would make its queue too long, and takes as much again when that is empty', async () => {
      const bytes = messageBytes([packEvent(makeEvent('first00'))])
      for (const [limit, most] of [{ appendQueueEventsMax: 4 }, { appendQueueBytesMax: 4 * bytes }].entries()) {
        const small = { ...limits, ...most }
        const narrow = await openJetStream(log.nats, { partition: '0', prefix: log.prefix, limits: small })
        for (const time of ['first', 'again']) {
          const calls = Array.from({ length: 10 }, (_, n) => narrow.append([makeEvent(`${time}${limit}${n}`)]))
          const outcomes = await Promise.allSettled(calls)
          const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
          expect(refused).to.have.length(6)
          for (const { reason } of refused) expect(reason).to.be.instanceOf(TransientError)
        }
        await narrow.close()
      }
      expect(await readAll(stream)).to.have.length(16)
    })

    it('takes a call that is more than its queue may hold when nothing else waits, and no other beside it', async () => {
      const small = { ...limits, appendQueueBytesMax: 1 }
      const narrow = await openJetStream(log.nats, { partition: '0', prefix: log.prefix, limits: small })
      const alone = narrow.append([makeEvent('alone')])
      expect(await rejection(narrow.append([makeEvent('beside')]))).to.be.instanceOf(TransientError)
      await alone
      expect(idsOf(await readAll(narrow))).to.deep.equal(['acme.traces.alone'])
      await narrow.close()
    })

    it('says that the stream is full, keeps all that it has, and goes on when there is room', async () => {
      const { config } = (await log.ask(`STREAM.INFO.${log.name}`)) as { config: object }
      await log.ask(`STREAM.UPDATE.${log.name}`, { ...config, max_bytes: 100_000 })
      const kept: string[] = []
      const refusals: Error[] = []
      for (const way of [makeEvent, makeLine]) {
        for (let index = 0; index < 20; index++) {
          const event = { ...makeLarge(`${way.name}-${index}`, 10_000), identified: way === makeEvent }
          await stream.append([event]).then(
            () => kept.push(event.id),
            (error: Error) => refusals.push(error),
          )
        }
      }
      expect(refusals).to.have.length.above(10)
      for (const refusal of refusals) {
        expect(refusal).to.be.instanceOf(TransientError)
        expect(refusal.message).to.match(/full.*max_bytes/)
      }
      expect(idsOf(await readAll(stream))).to.deep.equal(kept)
      await log.ask(`STREAM.UPDATE.${log.name}`, { ...config, max_bytes: 10_000_000 })
      await stream.append([makeEvent('room')])
      expect(await readAll(stream)).to.have.length(kept.length + 1)
    })

    it('says what somebody has limited beside that, and goes on when that is set back', async () => {
      const { config } = (await log.ask(`STREAM.INFO.${log.name}`)) as { config: object }
      const setTo = (change: object) => log.ask(`STREAM.UPDATE.${log.name}`, { ...config, ...change })
      await stream.append([makeEvent('before')])
      for (const [setting, limit] of [
        ['max_msgs', 1],
        ['max_msg_size', 1_000],
      ] as const) {
        await setTo({ [setting]: limit })
        for (const identified of [true, false]) {
          const failure = await rejection(stream.append([{ ...makeLarge('more', 5_000), identified }]))
          expect(failure).to.be.instanceOf(TransientError)
          expect(failure.message).to.match(new RegExp(`somebody has set its ${setting}: set it to -1`))
        }
      }
      await setTo({})
      await stream.append([makeEvent('after')])
      expect(idsOf(await readAll(stream))).to.deep.equal(['acme.traces.before', 'acme.traces.after'])
    })
  })
})
