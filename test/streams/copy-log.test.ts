import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { withoutGaps } from '#src/directory/fill-gaps.ts'
import { erasureSubject, sealErasure } from '#src/events/erasure.ts'
import { positionStep, type NewEvent } from '#src/events/envelope.ts'
import { partitionNumber, partitionOf } from '#src/events/partition.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { compareLogs } from '#streams/compare-logs.ts'
import { copyLog, type CopiedLog } from '#streams/copy-log.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { openCopyTarget } from '#streams/jetstream/copy-target.ts'
import { provisionLogs } from '#streams/jetstream/provision.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import { startNats } from '../../infra/engines/nats.ts'
import { enginesTimeoutMs, natsEngine } from '../support/engines.ts'
import { makeSource, makeTargets, partitions, type SourceLog, type TargetLogs } from './copied-logs.ts'
import { askServer, newPrefix, removeLogs, testProvision } from './jetstream-log.ts'
import { fillSmall, openDamaged, openLog, sampleOf } from './damaged-log.ts'
import { makeEvent, noon } from '../support/make-event.ts'
import { readAll, rejection, stored, withoutPosition } from '../support/read-all.ts'

const hourMs = 3_600_000
const workspaces = ['acme', 'beta', 'gamma', 'delta'].map(workspaceIdOf)
const onProgress = (): void => undefined

/** Of all workspaces in turn, received some hours ago and, the last of them, just now: in runs, alone, with and without identity. */
function variedEvents(count: number): readonly NewEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const workspaceId = workspaces[Math.floor(index / 7) % workspaces.length] as NewEvent['workspaceId']
    const receivedAt = index > 0.9 * count ? noon : noon - 3 * hourMs + index
    const isLine = index % 5 === 0
    return makeEvent(`event-${index}`, {
      workspaceId,
      receivedAt,
      identified: !isLine,
      type: isLine ? 'logs.received' : 'spans.received',
      ...(index % 11 === 0 ? { subject: `subject-${index % 3}` } : {}),
      ...(index % 13 === 0 ? { reservation: 'r1', answer: '{"x":1}' } : {}),
    })
  })
}

async function expectCopied(source: SourceLog, { logs }: TargetLogs): Promise<void> {
  const events = await readAll(source.log, 1_000)
  for (const [partition, log] of logs.entries()) {
    const copies = await readAll(log, 1_000)
    const originals = events.filter(({ workspaceId }) => partitionNumber(workspaceId, partitions) === partition)
    expect(copies.map(withoutPosition)).to.deep.equal(originals.map(withoutPosition))
  }
}

const differing = async (log: CopiedLog) =>
  (await compareLogs(log, onProgress)).filter(({ equal }) => !equal).map(({ workspaceId }) => workspaceId)

describe('copying a log to JetStream', function () {
  let targets: TargetLogs
  const sources: SourceLog[] = []

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    targets = await makeTargets(await natsEngine())
  })
  afterEach(async () => {
    await targets.remove()
    for (const source of sources.splice(0)) await source.remove()
  })

  const ofAcme = (): Stream => partitionOf(targets.logs)(workspaceIdOf('acme'))

  async function sourceOf(events: readonly NewEvent[]): Promise<SourceLog> {
    const source = await makeSource(events)
    sources.push(source)
    return source
  }

  it('gives each partition its workspaces, byte for byte and in order, and says that they are equal', async () => {
    const large = makeEvent('large', { payload: randomBytes(2.5 * targets.nats.payloadBytesMax()) })
    const source = await sourceOf([...variedEvents(2_500), large, ...variedEvents(10).slice(9)])
    const copied = await targets.copied(source.log)
    const told: number[] = []
    const count = await copyLog(copied, { onProgress: (position, until) => told.push(position / until) })
    expect(count).to.equal(2_501)
    expect([told[0], told.at(-1)]).to.deep.equal([0, 1])
    await expectCopied(source, targets)
    const compared = await compareLogs(copied, onProgress)
    expect(compared.map(({ workspaceId }) => workspaceId)).to.have.members(workspaces)
    for (const { equal, later, source: tally, copy } of compared) {
      expect([equal, later, copy]).to.deep.equal([true, 0, tally])
    }
    expect(await copyLog(copied, { onProgress }), 'again').to.equal(0)
  })

  it('puts neighbours of old events into shared messages', async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => makeEvent(`${index}`, { receivedAt: noon - 2 * hourMs }))
    const source = await sourceOf(lines)
    await copyLog(await targets.copied(source.log), { onProgress })
    await expectCopied(source, targets)
    expect(await targets.messages()).to.be.below(10)
  })

  it('puts each event on the subject that its workspace and type, or its own subject, have', async () => {
    const source = await sourceOf(variedEvents(200))
    await copyLog(await targets.copied(source.log), { onProgress })
    let seen = 0
    for (const { subject, events } of await targets.stored()) {
      seen += events.length
      for (const { subject: own, workspaceId, type } of events) {
        expect(subject.endsWith(own === undefined ? `.${workspaceId}.${type}` : `._.${own}`), subject).to.equal(true)
      }
    }
    expect(seen).to.equal(200)
  })

  it('keeps ids that repeat after an hour, old and new, and knows those of the last hour', async () => {
    const at = (name: string, minutes: number) => makeEvent(name, { receivedAt: noon + minutes * 60_000 })
    // The clock was set back between the two.
    const twice = [at('twice', 40), at('twice', -25)]
    const [line, next] = ['line', 'next'].map((name) => makeEvent(name, { identified: false })) as [NewEvent, NewEvent]
    const again = [-180, -90, 0].map((minutes) => at('again', minutes))
    const source = await sourceOf([...again, line, ...twice, at('line of a request', 0), next])
    await copyLog(await targets.copied(source.log), { onProgress })
    await expectCopied(source, targets)
    const log = ofAcme()
    const copies = await readAll(log)
    const retry = await log.append([makeEvent('again', { receivedAt: noon + 30_000, answer: 'another' })])
    expect(retry.events.map(({ position, repeated: first }) => [position, first?.answer])).to.deep.equal([
      [copies[2]?.position, undefined],
    ])
    expect(retry.duplicates).to.equal(1)
    const [later, earlier] = await Promise.all([41, -24].map((minutes) => log.append([at('twice', minutes)])))
    expect([later?.last, earlier?.last]).to.deep.equal([copies[4]?.position, copies[5]?.position])
    expect((await log.append([at('line of a request', 1)]))?.last).to.equal(copies[6]?.position)
    const anew = await log.append([makeEvent('again', { receivedAt: noon + 2 * hourMs })])
    expect(anew.duplicates).to.equal(0)
  })

  it('keeps what is expected of a subject', async () => {
    const source = await sourceOf([
      makeEvent('first', { subject: 'ledger', receivedAt: noon - 2 * hourMs }),
      makeEvent('second', { subject: 'ledger', receivedAt: noon - 2 * hourMs }),
      makeEvent('other', { receivedAt: noon - 2 * hourMs }),
    ])
    await copyLog(await targets.copied(source.log), { onProgress })
    const log = ofAcme()
    const last = await log.last('ledger')
    expect(last?.id).to.equal('acme.traces.second')
    const expected = { subject: 'ledger', position: last?.position ?? 0 }
    await log.append([makeEvent('third', { subject: 'ledger' })], expected)
    expect((await rejection(log.append([makeEvent('fourth')], expected))).name).to.equal('ConflictError')
  })

  it('copies what is left of a log that was cut, and from which workspaces were erased', async () => {
    const source = await sourceOf(variedEvents(2_500))
    const { log } = source
    const erased: WorkspaceId[] = []
    const erase = async (name: string): Promise<void> => {
      const workspaceId = workspaceIdOf(name)
      const { last } = await log.append([sealErasure(workspaceId, { at: noon, unique: name.padEnd(32, '0') })])
      await log.erase(workspaceId, last)
      erased.push(workspaceId)
    }
    await erase('beta')
    for (const event of variedEvents(60)) await log.append([{ ...event, id: `${event.id}-again` }])
    await log.cut(600 * positionStep)
    await erase('delta')
    const left = await readAll(log, 1_000)
    expect([await log.first().then((first) => first?.isCut), left.length]).to.satisfy(
      ([isCut, count]: [boolean, number]) => isCut && count > 700 && count < 1_500,
    )
    const copied = await targets.copied(log)
    const told: number[] = []
    expect(await copyLog(copied, { onProgress: (position, until) => told.push(position / until) })).to.equal(
      left.length,
    )
    expect([told[0], told.at(-1)]).to.deep.equal([0, 1])
    await expectCopied(source, targets)
    expect(await differing(copied)).to.deep.equal([])
    expect(await copyLog(copied, { onProgress }), 'again').to.equal(0)
    for (const workspaceId of erased) {
      const copy = partitionOf(targets.logs)(workspaceId)
      expect((await copy.last(erasureSubject(workspaceId)))?.workspaceId).to.equal(workspaceId)
      // What came again after it was erased is there still.
      expect(await copy.isLeft(workspaceId)).to.equal(workspaceId === workspaceIdOf('beta'))
    }
    for (const copy of targets.logs)
      expect((await copy.first())?.isCut, 'it is all that this log ever held').to.equal(false)
    // What the log lost after it was copied, the copy still holds: that is no copy.
    await erase('gamma')
    await copyLog(copied, { onProgress })
    expect(await differing(copied)).to.deep.equal([workspaceIdOf('gamma')])
    await log.cut(2_000 * positionStep)
    expect(await differing(copied)).to.include(workspaceIdOf('acme'))
  })

  describe('broken off', () => {
    /** A connection that fails for good at the n-th message to a log: before it is sent, or after, which nobody tells. */
    function failing(nats: Nats, failsAt: number, isSent: boolean): Nats {
      let sent = 0
      const fail = (): never => {
        throw new TransientError({ operation: 'ask', subject: 'NATS', hint: 'the test has cut it off' })
      }
      return {
        ...nats,
        request: async (subject, data, fields) => {
          if (sent >= failsAt) return fail()
          if (subject.startsWith('$JS')) return nats.request(subject, data, fields)
          if (++sent < failsAt) return nats.request(subject, data, fields)
          if (isSent) await nats.request(subject, data, fields)
          return fail()
        },
      }
    }

    it('at any message goes on where it was, never twice, however long after', async () => {
      const source = await sourceOf(variedEvents(2_500))
      for (const isSent of [false, true]) {
        for (let failsAt = 1; ; failsAt++) {
          const own = await makeTargets(await natsEngine())
          const cut = await own.copied(source.log, failing(own.nats, failsAt, isSent))
          const broken = await copyLog(cut, { onProgress, patienceMs: 0 }).then(
            () => false,
            () => true,
          )
          await copyLog(await own.copied(source.log), { onProgress })
          await expectCopied(source, own)
          await own.remove()
          if (!broken) {
            expect(failsAt).to.be.above(6)
            break
          }
        }
      }
    })

    it('and begun twice at once comes to the same', async () => {
      const source = await sourceOf(variedEvents(5_000))
      const copied = await Promise.all([0, 1, 2].map(() => targets.copied(source.log)))
      await Promise.all(copied.map((each) => copyLog(each, { onProgress })))
      await expectCopied(source, targets)
    })

    it('by a server that dies and comes again goes on by itself', async () => {
      const server = await startNats()
      const own = await makeTargets(server.url)
      const source = await sourceOf(variedEvents(6_000))
      let restarting: Promise<void> | undefined
      const restart = async (): Promise<void> => {
        await server.kill()
        await server.start()
      }
      await copyLog(await own.copied(source.log), {
        onProgress: (position) => {
          if (position > 0) restarting ??= restart()
        },
      })
      await restarting
      await expectCopied(source, own)
      await own.remove()
      await server.remove()
    })
  })

  describe('refuses', () => {
    const old = { receivedAt: noon - 2 * hourMs }

    it('a log that holds anything else, the copy of another log among it, and writes nothing there', async () => {
      const source = await sourceOf(variedEvents(20))
      const other = await sourceOf(variedEvents(30))
      await copyLog(await targets.copied(other.log), { onProgress })
      const before = await targets.messages()
      const failure = await rejection(copyLog(await targets.copied(source.log), { onProgress }))
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure.message).to.include('which holds the copy of another log')
      expect(await targets.messages()).to.equal(before)
    })

    it('a log that a cluster has written to, before or in between', async () => {
      const source = await sourceOf(variedEvents(20))
      for (const log of targets.logs) await log.append([makeEvent('of the cluster', old)])
      const failure = await rejection(copyLog(await targets.copied(source.log), { onProgress }))
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure.message).to.include('a cluster has written to it')

      const own = await makeTargets(await natsEngine())
      const copied = await own.copied(source.log)
      const between = copied.targets.map((target, index) => ({
        ...target,
        copied: async () => {
          const position = await target.copied()
          await own.logs[index]?.append([makeEvent('between', old)])
          return position
        },
      }))
      expect((await rejection(copyLog({ ...copied, targets: between }, { onProgress }))).message).to.include(
        'a cluster has written to it',
      )
      expect(await own.messages()).to.equal(partitions)
      await own.remove()
    })

    it('a log whose last message the server has counted and not stored, as without room, and says what to do', async () => {
      const source = await sourceOf(variedEvents(20))
      await copyLog(await targets.copied(source.log), { onProgress })
      const { nats } = targets
      const { streams } = (await askServer(nats, 'STREAM.NAMES', {
        subject: (await targets.stored())[0]?.subject,
      })) as {
        streams: readonly string[]
      }
      await askServer(nats, `STREAM.PURGE.${streams[0]}`)
      const failure = await rejection(copyLog(await targets.copied(source.log), { onProgress }))
      expect(failure).to.be.instanceOf(PermanentError)
      expect(failure.message).to.equal(
        `read the last message of stream ${streams[0]} (it is not there, as where NATS had no room for it (see its /healthz): make room, restart ` +
          'NATS, remove all streams of this installation (nats stream rm) and run this again)',
      )
    })
  })

  it('is different when anything is: an event missing, changed, of another order or workspace', async () => {
    const events = variedEvents(60).map((event) => makeEvent(event.id, { workspaceId: event.workspaceId }))
    const source = await sourceOf(events)
    const copied = await targets.copied(source.log)
    await copyLog(copied, { onProgress })
    expect(await differing(copied)).to.deep.equal([])
    const changed = makeEvent(events[0]?.id ?? '', { payload: Buffer.from('changed') })
    const [first, second, ...rest] = events as [NewEvent, NewEvent, ...NewEvent[]]
    const moved = { ...first, workspaceId: workspaceIdOf('beta') }
    for (const [others, names] of [
      [[changed, second, ...rest], ['acme']],
      [[{ ...first, receivedAt: noon + 1 }, second, ...rest], ['acme']],
      [[second, first, ...rest], ['acme']],
      [
        [moved, second, ...rest],
        ['acme', 'beta'],
      ],
      [[...events, makeEvent('missing', { workspaceId: workspaceIdOf('beta') })], ['beta']],
      [[...events, makeEvent('missing', { workspaceId: workspaceIdOf('zeta') })], ['zeta']],
    ] as const) {
      const other = await sourceOf(others)
      expect(await differing({ ...copied, source: other.log })).to.have.members([...names])
    }
    const shorter = await sourceOf(events.slice(0, -1))
    const compared = await compareLogs({ ...copied, source: shorter.log }, onProgress)
    expect(compared.every(({ equal }) => equal)).to.equal(true)
    expect(compared.reduce((sum, { later }) => sum + later, 0)).to.equal(1)
  })
})

describe('copying a log whose positions are kept', function () {
  const prefix = newPrefix()
  let nats: Nats
  let log: Stream
  before(async function () {
    this.timeout(enginesTimeoutMs)
    nats = await connectNats({ url: await natsEngine() })
  })
  beforeEach(async () => {
    await provisionLogs(nats, { ...testProvision, prefix })
    log = await openJetStream(nats, { partition: 'directory', prefix, limits })
  })
  afterEach(async () => {
    await log.close()
    await removeLogs(nats, prefix)
  })
  after(() => nats.close())

  async function copiedOf(source: CopiedLog['source']): Promise<CopiedLog> {
    const options = { partition: 'directory', prefix, source: source.epoch, keepsPositions: true, clock: () => noon }
    const target = { ...(await openCopyTarget(nats, options)), partition: 'directory', log }
    return { source, targets: [target], targetsOf: () => [0], keepsPositions: true }
  }
  const placesIn = async (of: Pick<Stream, 'read'>): Promise<readonly (readonly [string, number])[]> =>
    (await readAll(of, 500)).map(({ id, position }) => [id, position])

  it('puts each event where it stood, and refuses one that cannot stand there', async () => {
    const small = Array.from({ length: 1_300 }, (_, index) => makeEvent(`${index}`, { receivedAt: noon - 2 * hourMs }))
    const source = await makeSource(small)
    const copied = await copiedOf(source.log)
    await copyLog(copied, { onProgress })
    expect(await placesIn(log)).to.deep.equal(await placesIn(source.log))
    expect((await log.head()) / positionStep).to.equal(1_300)
    expect(await differing(copied)).to.deep.equal([])

    await source.log.append([stored(makeEvent('large', { payload: randomBytes(nats.payloadBytesMax()) }))])
    expect((await rejection(copyLog(copied, { onProgress }))).message).to.include('max_payload')
    expect(await log.head()).to.equal(1_300 * positionStep)
    await source.remove()
  })

  it('puts each event of a log that was damaged where it stood, and others at the places of those that were lost', async () => {
    const damaged = await openDamaged(await sampleOf(fillSmall, { isKilled: false }))
    damaged.spoil()
    damaged.suspect()
    expect((await damaged.mend()).mended?.report?.lost).to.be.greaterThan(1)
    const mended = await openLog(damaged.file)
    expect((await rejection(copyLog(await copiedOf(mended), { onProgress }))).message, 'as it is').to.include(
      'its place',
    )
    const copied = await copiedOf(withoutGaps(mended))
    await copyLog(copied, { onProgress })
    expect(await placesIn(log)).to.include.deep.members([...(await placesIn(mended))])
    expect(await log.head()).to.equal(await mended.head())
    expect(await differing(copied)).to.deep.equal([])
    await mended.close()
    await damaged.remove()
  })
})

describe('comparing a log with its copy', () => {
  it('tells one place from another where others name it, and else not', async () => {
    const [source, copy] = ['source', 'copy'].map(() => createMemoryStream({ partition: '0' })) as [Stream, Stream]
    await source.append([makeEvent('same')])
    await copy.append([makeEvent('before', { workspaceId: workspaceIdOf('beta') }), makeEvent('same')])
    const target = { partition: '0', log: copy, copied: async () => 0, append: async () => undefined }
    for (const keepsPositions of [true, false]) {
      const log: CopiedLog = { source, targets: [target], targetsOf: () => [0], keepsPositions }
      const compared = await compareLogs(log, onProgress)
      expect(compared.find(({ workspaceId }) => workspaceId === 'acme')?.equal).to.equal(!keepsPositions)
    }
  })
})
