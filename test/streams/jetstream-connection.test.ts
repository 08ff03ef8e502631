import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { freePort } from '#test/support/free-port.ts'
import { makeEvent, makeLarge } from '../support/make-event.ts'
import { makeJetStreamLog } from './jetstream-log.ts'
import { startFront, type NatsFront } from './nats-front.ts'
import { startPlainNats } from './plain-nats.ts'
import { readAll, rejection } from '../support/read-all.ts'

describe('a connection to NATS that is broken', () => {
  let front: NatsFront
  beforeEach(async function () {
    this.timeout(enginesTimeoutMs)
    front = await startFront(new URL(await natsEngine()))
  })
  afterEach(() => front.close())

  it('knows what the server said of itself until another one says it: what is sent is cut to its size', async () => {
    const nats = await connectNats({ url: front.urlBy('127.0.0.1') })
    try {
      const said = () => [nats.payloadBytesMax(), nats.server()]
      const before = said()
      expect(before[0]).to.be.greaterThan(0)
      // The next one is taken, and told nothing.
      const again = new Promise<void>((resolve) => front.take(() => resolve()))
      front.lose()
      await again
      expect(said()).to.deep.equal(before)
    } finally {
      await nats.close()
    }
  }).timeout(enginesTimeoutMs)

  it('is made again where the clock was set back since it was made, by more than anybody would wait', async () => {
    const nats = await connectNats({ url: front.urlBy('127.0.0.1') })
    const clock = Date.now
    Date.now = () => clock() - 86_400_000
    try {
      const again = new Promise<void>((resolve) => nats.onReconnect(resolve))
      front.lose()
      await again
      expect(await nats.request('nowhere', '')).to.have.property('code', 503)
    } finally {
      Date.now = clock
      await nats.close()
    }
  })

  it('refuses what is too large for the server as something that passes: it may have said so just now', async () => {
    const nats = await connectNats({ url: front.urlBy('127.0.0.1') })
    try {
      const large = Buffer.alloc(nats.payloadBytesMax() + 1)
      const sending = async (): Promise<void> => nats.publish('nowhere', large)
      for (const failure of [await rejection(sending()), await rejection(nats.request('nowhere', large))])
        expect([failure.name, failure.message]).to.deep.equal([
          'TransientError',
          failure.message.replace(/: .*/, `: MAX_PAYLOAD_EXCEEDED`),
        ])
    } finally {
      await nats.close()
    }
  })

  it('says so where the server that came back takes another password, and only as long as it does', async function () {
    this.timeout(enginesTimeoutMs)
    const other = await startPlainNats('authorization { user: throughline, password: another }')
    const nats = await connectNats({ url: front.urlBy('127.0.0.1') })
    /** Leads connections elsewhere, until the client has tried twice and begins a third time. */
    const leadTo = async (port: number): Promise<void> => {
      const tried = new Promise<void>((resolve) => {
        let count = 0
        front.take((socket) => {
          if (++count === 3) resolve()
          // 0: nobody is there.
          if (port === 0) socket.destroy()
          else front.passOn(socket, port)
        })
      })
      front.lose()
      await tried
    }
    const failure = async (): Promise<string> => (await rejection(nats.request('nowhere', ''))).message
    try {
      await leadTo(Number(new URL(other.url).port))
      expect(await failure()).to.match(/it refuses the user, password or token of NATS_URL/)
      await leadTo(0)
      expect(await failure()).to.match(/is nats-server running there/)
      const again = new Promise<void>((resolve) => nats.onReconnect(resolve))
      front.take(front.passOn)
      await again
      expect(await nats.request('nowhere', '')).to.have.property('code', 503)
    } finally {
      await nats.close()
      await other.remove()
    }
  })
})

describe('several NATS servers of which none can be connected to', () => {
  it('are said to refuse us where one does, in whichever order they are tried', async () => {
    const server = await startPlainNats('authorization { user: throughline, password: another }')
    const { host } = new URL(server.url)
    try {
      // Each time in an order of its own.
      for (let times = 0; times < 8; times++) {
        const failure = await rejection(connectNats({ url: `${server.url},nats://127.0.0.1:${await freePort()}` }))
        expect(failure.name).to.equal('PermanentError')
        expect(failure.message)
          .to.include(host)
          .and.match(/\(it refuses the user, password or token of NATS_URL\)$/)
      }
    } finally {
      await server.remove()
    }
  }).timeout(enginesTimeoutMs)
})

describe('a NATS server that is not found', () => {
  it('is said to be that, whatever its name is', async () => {
    const failure = await rejection(connectNats({ url: 'nats://nats.auth.invalid:4222', greetingMs: 2_000 }))
    expect(failure.name).to.equal('TransientError')
    expect(failure.message).to.match(/nats\.auth\.invalid.*\(is nats-server running there, and is NATS_URL right\?\)$/)
  })
})

describe('a NATS server that has as many connections as it may', () => {
  it('is told as one that may be so, and is connected to once there is room', async () => {
    const server = await startPlainNats('max_connections: 1')
    try {
      const only = await connectNats({ url: server.url })
      const failure = await rejection(connectNats({ url: server.url, greetingMs: 500 }))
      expect(failure.name).to.equal('TransientError')
      expect(failure.message).to.match(/may it have more connections \(max_connections\)\?/)
      await only.close()
      // The server counts one that has ended for a moment more.
      const again = (): Promise<Nats> => connectNats({ url: server.url, greetingMs: 500 }).catch(again)
      await (await again()).close()
    } finally {
      await server.remove()
    }
  }).timeout(enginesTimeoutMs)
})

describe('events of a call that NATS takes in several messages', () => {
  it('are where it is said that they are, also if it takes larger messages by the time it answers', async () => {
    const log = await makeJetStreamLog()
    let bytesMax = log.nats.payloadBytesMax()
    const request: Nats['request'] = async (...given) => {
      const answer = await log.nats.request(...given)
      bytesMax = log.nats.payloadBytesMax()
      return answer
    }
    const widened = { ...log.nats, request, payloadBytesMax: () => bytesMax }
    const stream = await openJetStream(widened, { partition: '0', prefix: log.prefix, limits })
    bytesMax = 8 * 1024
    const { events } = await stream.append([makeEvent('before'), makeLarge('large', 20_000), makeLarge('last', 9_000)])
    const positions = (await readAll(stream)).map(({ position }) => position)
    expect(positions).to.deep.equal(events.map(({ position }) => position))
    await stream.close()
    await log.remove()
  }).timeout(enginesTimeoutMs)
})
