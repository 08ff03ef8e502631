import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { provisionLogs } from '#streams/jetstream/provision.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { startNats, startNatsCluster, type NatsCluster } from '../../infra/engines/nats.ts'
import type { Engine } from '../../infra/engines/engine.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { askServer, testProvision } from './jetstream-log.ts'
import { startLoad } from './jetstream-load.ts'
import { makeEvent, makeEvents } from '../support/make-event.ts'
import { startPlainNats } from './plain-nats.ts'
import { never, readAll, rejection } from '../support/read-all.ts'

describe('the JetStream log when its server fails', function () {
  let server: Engine
  let connections: readonly Nats[]
  let streams: readonly Stream[]

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    server = await startNats()
    connections = await Promise.all([0, 1].map(() => connectNats({ url: server.url, timeoutMs: 2_000 })))
    await provisionLogs(connections[0] as Nats, testProvision)
    streams = await Promise.all(connections.map((nats) => openJetStream(nats, { partition: '0', limits })))
  })
  afterEach(async () => {
    await Promise.all(streams.map((stream) => stream.close()))
    await Promise.all(connections.map((nats) => nats.close()))
    await server.remove()
  })

  it('loses nothing acknowledged and takes nothing twice over kill -9 under load, three times', async () => {
    const load = startLoad(streams)
    for (let round = 0; round < 3; round++) {
      await load.progress(200)
      await server.kill()
      await server.start()
      await load.progress(50)
    }
    await load.stop()
    expect(load.failures()).to.be.greaterThan(0)
    await load.audit(streams[0] as Stream)
  })

  it('says at once that there is no connection, and goes on by itself when there is one', async () => {
    const [stream] = streams as [Stream]
    const { last } = await stream.append([makeEvent('before', { identified: false })])
    const follower = stream.changed(last, never())
    await server.stop()
    const calls = [
      stream.append([makeEvent('down')]),
      stream.append([makeEvent('line', { identified: false })]),
      stream.read(0, 10),
      stream.head(),
      stream.find(['acme.traces.before'], Date.now()),
      stream.last('x'),
    ]
    for (const failure of await Promise.all(calls.map(rejection))) {
      expect(failure).to.be.instanceOf(TransientError)
      expect(failure.message).not.to.include('\n')
      // Not that anything is tried again: a verb ends in this line.
      expect(failure.message).to.match(/\(the connection is lost; is nats-server running there\?\)$/)
    }
    await server.start()
    // Woken, because what was written meanwhile has not been heard.
    await follower
    const waiting = stream.changed(last, never())
    const load = startLoad(streams.slice(1))
    await load.progress(1)
    await load.stop()
    await waiting
    await load.audit(stream)
  })

  it('settles every append that is under way when the server dies, and closes', async () => {
    const [stream] = streams as [Stream]
    const calls = Array.from({ length: 300 }, (_, index) => stream.append([makeEvent(`call-${index}`)]))
    const settled = Promise.allSettled(calls)
    await server.kill()
    for (const outcome of await settled) {
      if (outcome.status === 'rejected') expect(outcome.reason).to.be.instanceOf(TransientError)
    }
    await stream.close()
  })
})

describe('the JetStream log when its server hangs', function () {
  it('says in the end that the outcome is unknown, takes no more than its queue holds, and stores each id once', async () => {
    const server = await startPlainNats('jetstream { store_dir: "$FOLDER/store", sync_interval: always }')
    const nats = await connectNats({ url: server.url, timeoutMs: 2_000 })
    await provisionLogs(nats, testProvision)
    const stream = await openJetStream(nats, { partition: '0', limits: { ...limits, appendQueueEventsMax: 100 } })
    const events = makeEvents(300)
    const sendAll = () => Promise.allSettled(events.map((event) => stream.append([event])))
    server.pause()
    const sent = sendAll()
    const refused = (await sent).filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason as Error)
    for (const reason of refused) expect(reason).to.be.instanceOf(TransientError)
    const saying = (what: RegExp): number => refused.filter(({ message }) => what.test(message)).length
    const taken = saying(/no answer in time.*disk may be full/)
    expect([taken, saying(/too much is waiting/)]).to.deep.equal([100, 200])
    server.resume()
    for (const event of events) {
      while ((await stream.append([event]).catch(() => undefined)) === undefined) await nextTurn()
    }
    expect((await readAll(stream)).map(({ id }) => id)).to.have.members(events.map(({ id }) => id))
    await stream.close()
    await nats.close()
    await server.remove()
  })
})

describe('the JetStream log of three servers', function () {
  let cluster: NatsCluster
  let connections: readonly Nats[]
  let streams: readonly Stream[]

  beforeEach(async function () {
    this.timeout(enginesTimeoutMs)
    cluster = await startNatsCluster(3)
    connections = await Promise.all([0, 1].map(() => connectNats({ url: cluster.url, timeoutMs: 2_000 })))
    const { replicas: _, ...options } = testProvision
    await provisionLogs(connections[0] as Nats, options)
    streams = await Promise.all(connections.map((nats) => openJetStream(nats, { partition: '0', limits })))
  })
  afterEach(async () => {
    await Promise.all(streams.map((stream) => stream.close()))
    await Promise.all(connections.map((nats) => nats.close()))
    await cluster.remove()
  })

  type Info = Readonly<{ config: { num_replicas: number }; cluster: { leader: string; leader_since: string } }>
  /** What is said of the log, once a server leads it. */
  const info = async (nats = connections[0] as Nats): Promise<Info> => {
    for (;;) {
      const told = await askServer(nats, 'STREAM.INFO.TELEMETRY_0').catch(() => undefined)
      if ((told as Partial<Info> | undefined)?.cluster?.leader !== undefined) return told as unknown as Info
      await nextTurn()
    }
  }
  /** Does it, and again as who is told to come back: the server that leads loses the lead where the machine keeps it waiting. */
  async function insist<Outcome>(act: () => Promise<Outcome>): Promise<Outcome> {
    for (;;) {
      try {
        return await act()
      } catch (error) {
        if (!(error instanceof TransientError)) throw error
        await nextTurn()
      }
    }
  }

  /** All of the log, read while one server led it: again where another came to lead meanwhile, as on a machine that keeps it waiting. */
  async function readUnderOne(nats: Nats, log: Stream): Promise<readonly RecordedEvent[]> {
    for (;;) {
      const { leader_since: before } = (await info(nats)).cluster
      expect(before).to.be.a('string')
      try {
        return await readAll(log)
      } catch (error) {
        if ((await info(nats)).cluster.leader_since === before) throw error
      }
    }
  }

  it('has three replicas, and goes on over kill -9 of the leader and of the others, under load', async () => {
    expect((await info()).config.num_replicas).to.equal(3)
    const load = startLoad(streams)
    await load.progress(200)
    const { leader } = (await info()).cluster
    const names = cluster.nodes.map((_node, index) => `nats-${index}`)
    expect(names).to.include(leader)
    const first = cluster.nodes[names.indexOf(leader)] as Engine
    for (const node of [first, ...cluster.nodes.filter((each) => each !== first)]) {
      await node.kill()
      await load.progress(200)
      await node.start()
      await load.progress(200)
    }
    await load.stop()
    for (const stream of streams) await load.audit(stream)
  })

  it('is read on by everyone while the one that led hangs', async () => {
    const [stream] = streams as [Stream]
    const events = makeEvents(300)
    await insist(() => stream.append(events))
    const leader = Number(/\d+$/.exec((await info()).cluster.leader)?.[0])
    const hung = cluster.nodes[leader] as Engine
    const others = cluster.nodes.filter((node) => node !== hung)
    const readers = await Promise.all(others.map(({ url }) => connectNats({ url, timeoutMs: 2_000 })))
    await hung.pause()
    try {
      // Until another leads.
      for (const nats of readers) {
        const log = await openJetStream(nats, { partition: '0', limits })
        // The others go on giving reads to it, until they know.
        for (let round = 0; round < 2; round++) expect(await readUnderOne(nats, log)).to.have.length(300)
        await log.close()
      }
    } finally {
      await hung.resume()
      await Promise.all(readers.map((nats) => nats.close()))
    }
  })

  it('lets calls through that expect the same of a subject, all at once and from both processes', async () => {
    const [first, second] = streams as [Stream, Stream]
    const { last } = await insist(() => first.append([makeEvent('opened', { subject: 'open' })]))
    const expected = { subject: 'open', position: last }
    const spends = Array.from({ length: 100 }, (_, index) =>
      insist(() => (index % 2 === 0 ? first : second).append([makeEvent(`spend-${index}`)], expected)),
    )
    await Promise.all(spends)
    await insist(() => first.append([makeEvent('closed', { subject: 'open' })], expected))
    const late = insist(() => second.append([makeEvent('late')], expected))
    expect((await rejection(late)).name).to.equal('ConflictError')
    expect(await insist(() => readAll(second))).to.have.length(102)
  })

  it('lets nobody wait for a thousand calls that expect the same of a subject, but those', async () => {
    const [stream] = streams as [Stream]
    const { last } = await insist(() => stream.append([makeEvent('opened', { subject: 'open' })]))
    let spent = 0
    const spends = Array.from({ length: 1000 }, async (_, index) => {
      await insist(() => stream.append([makeEvent(`spend-${index}`)], { subject: 'open', position: last }))
      spent++
    })
    await insist(() => stream.append([makeEvent('of another')]))
    expect(spent).to.be.below(300)
    await Promise.all(spends)
  })
})
