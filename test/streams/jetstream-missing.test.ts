import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { sealLoss } from '#src/events/erasure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { TransientError } from '#src/lib/failure.ts'
import { MissingError } from '#streams/jetstream/stored.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { makeJetStreamLog, type JetStreamLog } from './jetstream-log.ts'
import { unfindMessages } from './jetstream-unfound.ts'
import { makeEvent, makeLarge } from '../support/make-event.ts'
import { idsOf, readAll, rejection } from '../support/read-all.ts'

// A server whose disk is full in the midst of a step stores some of its messages, and counts one that it has not stored.
describe('a JetStream log that lacks messages which its server has counted', function () {
  let log: JetStreamLog
  let stream: Stream
  let other: Stream

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    log = await makeJetStreamLog()
    stream = await log.open()
    other = await log.open()
  })
  afterEach(async () => {
    await Promise.all([stream.close(), other.close()])
    await log.remove()
  })

  const subject = (): string => `${log.prefix}-telemetry.0.${stream.epoch}.acme.spans.received`
  const part = (which: string) => log.nats.request(subject(), 'some of an event', { 'Throughline-Part': which })
  /** As where a server without room has counted a message, and not stored it. */
  async function leaveHole(): Promise<void> {
    const gone = workspaceIdOf('gone')
    await stream.append([makeEvent('gone', { workspaceId: gone })])
    await log.ask(`STREAM.PURGE.${log.name}`, { filter: subject().replace('.acme.', `.${gone}.`) })
  }

  it('is found at its end, and behind the first parts of an event, at once', async () => {
    await stream.append([makeEvent('before')])
    await part('1/2')
    await leaveHole()
    expect(await stream.head()).to.equal(3 * 4096)
    for (const reader of [stream, other]) {
      const failure = await rejection(reader.read(4096, 10))
      expect(failure).to.be.instanceOf(MissingError)
      expect(failure.message).to.match(/^read message 3 of .*missing/)
    }
  })

  it('is found in a directory too, which projectors do not pass over: nobody is told that they would', async () => {
    const directory = await openJetStream(log.nats, { partition: 'directory', prefix: log.prefix, limits })
    await directory.append([makeEvent('a'), makeEvent('b'), makeEvent('c')])
    await log.ask(`STREAM.PURGE.${log.prefix}-DIRECTORY`, { seq: 3 })
    const { message } = await rejection(directory.read(0, 10))
    expect(message).to.match(/message 1 .*missing: the next one is 3; .*put it back from a backup of NATS/)
    expect(message).to.not.include('ALLOW_LOST_LOG')
    await directory.close()
  })

  it('is passed over once an event behind it says so, with parts of events that lack others, and with nothing else', async () => {
    await stream.append([makeEvent('before')])
    await part('1/2')
    await leaveHole()
    await stream.append([makeEvent('after')])
    await part('1/2')
    await stream.append([makeLarge('large', log.nats.payloadBytesMax() + 1_000)])
    await part('2/2')
    await stream.append([makeEvent('last')])
    expect(await rejection(other.read(4096, 10))).to.be.instanceOf(MissingError)
    await stream.append([sealLoss({ at: Date.now(), unique: '0'.repeat(32) })])
    for (const reader of [stream, other]) {
      const names = idsOf(await readAll(reader)).slice(0, -1)
      expect(names).to.deep.equal(['before', 'after', 'large', 'last'].map((name) => `acme.traces.${name}`))
    }
    await part('1/2')
    await stream.append([makeEvent('later')])
    const head = await stream.head()
    expect(await rejection(other.read(head - 2 * 4096, 10))).to.be.instanceOf(MissingError)
  })

  for (const [which, gone] of [
    ['first', '1/2'],
    ['last', '2/2'],
  ] as const)
    it(`is passed over where only parts of an event are: the ${which} one, right before what says so`, async () => {
      await stream.append([makeEvent('before')])
      await part(gone)
      await stream.append([sealLoss({ at: Date.now(), unique: '0'.repeat(32) })])
      await stream.append([makeEvent('last')])
      for (const reader of [stream, other]) {
        const found = (await readAll(reader)).map(({ position }) => position / 4096)
        expect(found).to.deep.equal([1, 3, 4])
      }
    })

  describe('is not taken for one', () => {
    const positionsOf = async (reader: Stream, after: number) =>
      (await reader.read(after, 10)).map(({ position }) => position)

    for (const [where, count] of [
      ['the last message', 3],
      ['one with others behind it', 6],
    ] as const)
      it(`while its server finds nothing that it has, though it counts it: ${where}`, async () => {
        const { nats, unfind } = unfindMessages(log.nats)
        const reader = await openJetStream(nats, { partition: '0', prefix: log.prefix, limits })
        for (let index = 0; index < count; index++) await stream.append([makeEvent(`event-${index}`)])
        unfind({ from: 3, who: 'server' })
        expect(await positionsOf(reader, 4096)).to.deep.equal([2 * 4096])
        const failure = await rejection(reader.read(2 * 4096, 10))
        expect(failure).to.be.instanceOf(TransientError)
        expect(failure.message).to.match(/^read message 3 of .*NATS counts it and cannot read it now.*file handles/)
        unfind(undefined)
        expect(await positionsOf(reader, 2 * 4096)).to.have.length(count - 2)
        await reader.close()
      })

    it('while another copy has what the leader lacks', async () => {
      const { nats, unfind } = unfindMessages(log.nats)
      const reader = await openJetStream(nats, { partition: '0', prefix: log.prefix, limits })
      for (let index = 0; index < 5; index++) await stream.append([makeEvent(`event-${index}`)])
      unfind({ from: 3, who: 'leader' })
      const failure = await rejection(reader.read(2 * 4096, 10))
      expect(failure).to.be.instanceOf(TransientError)
      expect(failure.message).to.match(/^read message 3 of .*another copy of the stream has it.*step-down/)
      await reader.close()
    })

    for (const who of ['server', 'leader'] as const)
      it(`when it is sent again, and is not stored twice, while the ${who} does not find it`, async () => {
        const { nats, unfind } = unfindMessages(log.nats)
        const sender = await openJetStream(nats, { partition: '0', prefix: log.prefix, limits })
        const sent = [1, 2, 3].map((index) => makeEvent(`event-${index}`))
        for (const event of sent) await stream.append([event])
        unfind({ from: 3, who })
        expect(await rejection(sender.append(sent.slice(2)))).to.be.instanceOf(TransientError)
        expect(
          await rejection(
            sender.find(
              sent.slice(2).map(({ id }) => id),
              Date.now(),
            ),
          ),
        ).to.be.instanceOf(TransientError)
        expect(await log.messages()).to.equal(3)
        unfind(undefined)
        expect((await sender.append(sent.slice(2))).last).to.equal(3 * 4096)
        await sender.close()
      })
  })
})
