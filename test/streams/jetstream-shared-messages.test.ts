import { expect } from 'chai'
import { afterEach, before, beforeEach, describe, it } from 'mocha'
import type { NewEvent } from '#src/events/envelope.ts'
import { sealErasure } from '#src/events/erasure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { limits } from '#src/config.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { makeJetStreamLog, type JetStreamLog } from './jetstream-log.ts'
import { makeEvent, makeLarge, makeLine, noon } from '../support/make-event.ts'
import { idsOf, never, readAll, rejection } from '../support/read-all.ts'

/** As of a server that hangs. */
const hung: Nats['requestMany'] = (_subject, _data, onLate) => {
  onLate()
  return new Promise(() => undefined)
}

describe('group commit of the JetStream log', () => {
  let log: JetStreamLog
  let stream: Stream
  let other: Stream

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    log = await makeJetStreamLog()
    ;[stream, other] = [await log.open(), await log.open()]
  })
  afterEach(async () => {
    await Promise.all([stream.close(), other.close()])
    await log.remove()
  })

  it('puts lines of one workspace that come together into few messages, each line at its own place', async () => {
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, index) => stream.append([makeLine(`line-${index}`)])),
    )
    expect(await log.messages()).to.be.below(50)
    const all = await readAll(stream, 7)
    expect(all).to.have.length(500)
    const places = new Map(all.map(({ id, position }) => [id, position]))
    for (const [index, { last, events }] of answers.entries()) {
      expect(places.get(`acme.traces.line-${index}`)).to.equal(last)
      expect(events).to.deep.equal([{ position: last }])
    }
    expect(await stream.head()).to.equal(all.at(-1)?.position)
  })

  it('stores lines of many workspaces, by themselves and in one step, each under the subject of its own', async () => {
    const workspaces = Array.from({ length: 60 }, (_, index) => `ws-${index}`)
    const answers = await Promise.all(
      workspaces.flatMap((workspace) => [0, 1].map((n) => stream.append([makeLine(`${n}`, workspace)]))),
    )
    const all = await readAll(stream)
    expect(all.map(({ position }) => position)).to.deep.equal(answers.map(({ last }) => last).toSorted((a, b) => a - b))
    expect(await log.messages()).to.equal(60)
    const { state } = (await log.ask(`STREAM.INFO.${log.name}`, { subjects_filter: '>' })) as {
      state: { subjects: Record<string, number> }
    }
    expect(Object.keys(state.subjects)).to.have.members(
      workspaces.map((workspace) => `${log.prefix}-telemetry.0.${stream.epoch}.${workspace}.logs.received`),
    )
  })

  /** Each line is read where its answer says that it stands, and no two stand at one place. */
  const expectEachAtItsPlace = async (calls: readonly (readonly NewEvent[])[]): Promise<void> => {
    const answers = await Promise.all(calls.map((lines) => stream.append(lines)))
    const told = answers.flatMap(({ events }, call) =>
      events.map(({ position }, n) => [position, calls[call]?.[n]?.id]),
    )
    const found = (await readAll(stream)).map(({ position, id }) => [position, id])
    expect(found).to.deep.equal(told.toSorted(([a], [b]) => Number(a) - Number(b)))
  }
  const workspaces = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `ws-${index}`)

  /** Lines of one workspace, of which two go into a message. */
  const largeLines = (): readonly NewEvent[] => {
    const fields = { workspaceId: workspaceIdOf('large'), type: 'logs.received', identified: false } as const
    return ['a', 'b', 'c'].map((name) => makeLarge(name, 4_000_000, fields))
  }

  it('gives no place twice to more lines than a message has places for', async () => {
    const lines = Array.from({ length: 6_000 }, (_, index) => makeLine(`${index}`))
    await expectEachAtItsPlace([lines.slice(0, 1_000), lines.slice(1_000, 3_500), lines.slice(3_500)])
  })

  it('stores lines that are too many for a message in one step with others, each at its place', async () => {
    const small = workspaces(40).map((workspace) => [makeLine('line', workspace)])
    await expectEachAtItsPlace([...small, ...largeLines().map((line) => [line])])
  })

  it('stores a call that is too much for a message beside others, each of its lines at its place', async () => {
    await expectEachAtItsPlace([...workspaces(40).map((workspace) => [makeLine('line', workspace)]), largeLines()])
  })

  it('refuses a call of more lines than a message has places for, and stores nothing of it', async () => {
    const lines = Array.from({ length: 4_097 }, (_, index) => makeLine(`${index}`))
    expect(await rejection(stream.append(lines))).to.be.instanceOf(PermanentError)
    expect(await log.messages()).to.equal(0)
  })

  it('keeps lines of one call under the subjects of their own workspaces and types', async () => {
    await stream.append([makeLine('mine'), makeLine('theirs', 'globex')])
    await stream.append([makeLine('line'), makeEvent('span', { identified: false })])
    expect(await log.messages()).to.equal(4)
    const globex = workspaceIdOf('globex')
    expect(await stream.isLeft(globex)).to.equal(true)
    await stream.erase(globex, await stream.head())
    expect(idsOf(await stream.read(0, 1))).to.deep.equal(['acme.traces.mine'])
    expect(await log.messages()).to.equal(3)
  })

  it('stores lines of more workspaces than go in one step', async () => {
    await expectEachAtItsPlace(workspaces(600).map((workspace) => [makeLine('line', workspace)]))
  })

  it('is read at two places in turn without asking for a message again that holds both', async () => {
    const { events } = await stream.append(Array.from({ length: 60 }, (_, index) => makeLine(`${index}`)))
    expect(await log.messages()).to.equal(1)
    let asked = 0
    const nats: typeof log.nats = {
      ...log.nats,
      requestMany: async (...given) => {
        asked++
        return log.nats.requestMany(...given)
      },
    }
    const counted = await openJetStream(nats, { partition: '0', prefix: log.prefix, limits })
    const found: string[] = []
    let [near, far] = [0, events[29]?.position ?? 0]
    for (let turn = 0; turn < 3; turn++) {
      const [first, second] = [await counted.read(near, 10), await counted.read(far, 10)]
      near = first.at(-1)?.position ?? 0
      far = second.at(-1)?.position ?? 0
      found.push(...idsOf([...first, ...second]))
    }
    await counted.close()
    expect(new Set(found).size).to.equal(60)
    expect(asked).to.equal(2)
  })

  it('is read of a copy that is late, and little of its leader meanwhile', async () => {
    await stream.append(Array.from({ length: 100 }, (_, index) => makeEvent(`${index}`)))
    let ofLeader = 0
    let answered: Promise<unknown> = Promise.resolve()
    const nats: typeof log.nats = {
      ...log.nats,
      requestMany: (subject, data, onLate) => {
        const answers = log.nats.requestMany(subject, data, never)
        answered = answers
        onLate()
        return answers
      },
      request: async (subject, ...given) => {
        if (!subject.startsWith('$JS.API.STREAM.MSG.GET.')) return log.nats.request(subject, ...given)
        ofLeader++
        await answered
        return log.nats.request(subject, ...given)
      },
    }
    const slow = await openJetStream(nats, { partition: '0', prefix: log.prefix, limits })
    expect(await slow.read(0, 1_000)).to.have.length(100)
    expect(ofLeader).to.be.at.most(1)
    await slow.close()
  })

  it('is read of its leader message by message until a copy that hangs is given up', async () => {
    await stream.append(Array.from({ length: 100 }, (_, index) => makeEvent(`${index}`)))
    const givenUp = Promise.withResolvers<never>()
    let asked = 0
    const nats: typeof log.nats = {
      ...log.nats,
      requestMany: (_subject, _data, onLate) => {
        onLate()
        return givenUp.promise
      },
      request: async (subject, ...given) => {
        if (subject.startsWith('$JS.API.STREAM.MSG.GET.') && ++asked === 3)
          givenUp.reject(new TransientError({ operation: 'ask', subject }))
        return log.nats.request(subject, ...given)
      },
    }
    const slow = await openJetStream(nats, { partition: '0', prefix: log.prefix, limits })
    expect(await slow.read(0, 1_000)).to.have.length(3)
    await slow.close()
  })

  it('is not read where neither a copy nor its leader answers, as the leader says', async () => {
    await stream.append([makeEvent('one')])
    const failed = (operation: string) => new TransientError({ operation, subject: 'it' })
    let isAsked = false
    const nats: typeof log.nats = {
      ...log.nats,
      requestMany: async (_subject, _data, onLate) => {
        onLate()
        throw failed('ask a copy of')
      },
      request: async (subject, ...given) => {
        if (isAsked) throw failed('ask the leader of')
        return log.nats.request(subject, ...given)
      },
    }
    const lost = await openJetStream(nats, { partition: '0', prefix: log.prefix, limits })
    isAsked = true
    expect((await rejection(lost.read(0, 10))).message).to.match(/^ask the leader of/)
    isAsked = false
    await lost.close()
  })

  it('is read alike from its leader, where no copy answers', async () => {
    const globex = workspaceIdOf('globex')
    await stream.append([makeLine('erased', globex), makeEvent('erased', { workspaceId: globex })])
    await stream.append(Array.from({ length: 10 }, (_, index) => makeLine(`${index}`)))
    await stream.append([makeEvent('in parts', { payload: Buffer.alloc(3 * log.nats.payloadBytesMax(), 'x') })])
    await stream.append(Array.from({ length: 300 }, (_, index) => makeEvent(`after ${index}`)))
    const { last } = await stream.append([sealErasure(globex, { at: noon, unique: 'erasure' })])
    await stream.erase(globex, last)
    const nats: typeof log.nats = { ...log.nats, requestMany: hung }
    const ofLeader = await openJetStream(nats, { partition: '0', prefix: log.prefix, limits })
    const all = await readAll(stream, 1_000)
    expect(all.length).to.be.above(310)
    expect(await readAll(ofLeader, 1_000)).to.deep.equal(all)
    await ofLeader.close()
  })

  it('is read from the middle of a message, and followed there', async () => {
    const { events } = await stream.append(['a', 'b', 'c'].map((name) => makeLine(name)))
    expect(await log.messages()).to.equal(1)
    const [first, second, third] = events.map(({ position }) => position) as [number, number, number]
    expect(idsOf(await stream.read(0, 1))).to.deep.equal(['acme.traces.a'])
    expect(idsOf(await other.read(first, 1))).to.deep.equal(['acme.traces.b'])
    expect(idsOf(await stream.read(second, 10))).to.deep.equal(['acme.traces.c'])
    expect(await stream.read(third, 10)).to.deep.equal([])
    await stream.changed(second, never())
    expect(await stream.head()).to.equal(third)
  })

  it('keeps lines out of messages that somebody may ask for by id or by subject', async () => {
    await stream.append([makeLine('line')])
    await stream.append([makeEvent('of a subject', { subject: 'one', identified: false })])
    await stream.append([makeEvent('identified')])
    expect(await log.messages()).to.equal(3)
    expect((await stream.last('one'))?.id).to.equal('acme.traces.of a subject')
    const both = ['one', 'two'].map((subject) => makeEvent(`newer of ${subject}`, { subject, identified: false }))
    const { events } = await stream.append(both)
    const found = await Promise.all(['one', 'two'].map((subject) => stream.last(subject)))
    expect(found.map((event) => event?.position)).to.deep.equal(events.map(({ position }) => position))
  })
})
