import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { NewEvent } from '#src/events/envelope.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { provisionLogs } from '#streams/jetstream/provision.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import type { Engine } from '../../infra/engines/engine.ts'
import { startNats } from '../../infra/engines/nats.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { testProvision } from './jetstream-log.ts'
import { makeLarge } from '../support/make-event.ts'
import { startPlainNats } from './plain-nats.ts'
import { readAll } from '../support/read-all.ts'

const payloadBytes = 500_000
const appends = 8

describe('memory of what the JetStream log has taken', function () {
  let server: Engine
  let nats: Nats
  let stream: Stream

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    server = await startNats()
    nats = await connectNats({ url: server.url })
    await provisionLogs(nats, testProvision)
    stream = await openJetStream(nats, { partition: '0', limits })
  })
  afterEach(async () => {
    await stream.close()
    await nats.close()
    await server.remove()
  })

  const large = makeLarge('large', payloadBytes)
  const alike = (identified: boolean): readonly NewEvent[] =>
    Array.from({ length: appends }, (_, index) => ({ ...large, identified, id: `${large.id}-${index}` }))

  /** Buffers that appends leave to the garbage collector, in payloads for each. Less when it happens to run. */
  async function leftBy(events: readonly NewEvent[]): Promise<number> {
    const before = process.memoryUsage().arrayBuffers
    for (const event of events) await stream.append([event])
    return (process.memoryUsage().arrayBuffers - before) / payloadBytes / events.length
  }

  for (const [name, identified] of [
    ['with an identity', true],
    ['without', false],
  ] as const) {
    it(`is free as soon as it is acknowledged: an event ${name}`, async () => {
      const events = alike(identified)
      expect(await leftBy(events)).to.be.below(0.5)
      const stored = await readAll(stream)
      expect(stored.map(({ id }) => id)).to.deep.equal(events.map(({ id }) => id))
      expect(stored.every(({ payload }) => Buffer.compare(large.payload, payload) === 0)).to.equal(true)
    })
  }

  it('is free after the server was restarted, too', async () => {
    const back = new Promise<void>((resolve) => nats.onReconnect(resolve))
    await server.kill()
    await server.start()
    await back
    expect(await leftBy(alike(true))).to.be.below(0.5)
  })
})

it('memory of what the JetStream log sends is not free before it is sent', async () => {
  const server = await startPlainNats('jetstream { store_dir: "$FOLDER/store", sync_interval: always }')
  const nats = await connectNats({ url: server.url, timeoutMs: 60_000 })
  await provisionLogs(nats, testProvision)
  const stream = await openJetStream(nats, { partition: '0', limits })
  const events = Array.from({ length: 60 }, (_, index) => makeLarge(`waiting-${index}`, payloadBytes))
  // More than sockets take while nobody reads them.
  server.pause()
  const sent = Promise.all(events.map((event) => stream.append([event])))
  await nextTurn()
  server.resume()
  await sent
  const payloads = new Map((await readAll(stream)).map(({ id, payload }) => [id, payload]))
  for (const { id, payload } of events) {
    expect(Buffer.compare(payload, payloads.get(id) ?? Buffer.alloc(0)), id).to.equal(0)
  }
  await stream.close()
  await nats.close()
  await server.remove()
})
