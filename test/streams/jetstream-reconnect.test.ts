import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'

/** Nothing here takes as long, unless it never comes. */
const patienceMs = 40_000

describe('a connection to NATS over a network that loses what is sent', () => {
  let back: URL
  let front: Server
  let nats: Nats
  const taken: Socket[] = []
  /** Hears of each connection that is taken. */
  let take: (socket: Socket) => void
  const passOn = (socket: Socket): void => {
    const server = connect(Number(back.port), back.hostname).on('error', () => undefined)
    socket.pipe(server).pipe(socket)
    socket.once('close', () => server.destroy())
  }
  const nextTaken = (): Promise<Socket> => new Promise((resolve) => (take = resolve))

  before(async function () {
    this.timeout(enginesTimeoutMs)
    back = new URL(await natsEngine())
  })
  beforeEach(async () => {
    take = passOn
    front = createServer((socket) => {
      taken.push(socket.on('error', () => undefined))
      take(socket)
    }).listen(0, '127.0.0.1')
    await once(front, 'listening')
    const url = new URL(back)
    url.hostname = '127.0.0.1'
    url.port = String((front.address() as AddressInfo).port)
    nats = await connectNats({ url: url.href, greetingMs: 1_000, timeoutMs: 2_000 })
  })
  afterEach(async () => {
    await nats.close()
    for (const socket of taken.splice(0)) socket.destroy()
    front.close()
  })

  it('leaves nothing of an attempt that was not answered in time', async function () {
    this.timeout(patienceMs)
    const hung = nextTaken()
    for (const socket of taken.splice(0)) socket.destroy()
    const left = await hung
    const gone = once(left.resume(), 'close')
    take = passOn
    await new Promise<void>((resolve) => nats.onReconnect(resolve))
    await gone
    expect(taken.filter(({ destroyed }) => !destroyed)).to.have.length(1)
    expect(await nats.request('nowhere', '')).to.have.property('code', 503)
  })

  it('is made again where what was sent is not taken any more, however much of it waits', async function () {
    this.timeout(patienceMs)
    const [first] = taken
    first?.unpipe().pause()
    const again = new Promise<void>((resolve) => nats.onReconnect(resolve))
    // More than the systems of both ends hold.
    const body = Buffer.alloc(900_000)
    const asked = Array.from({ length: 32 }, () => nats.request('nowhere', body).catch(() => undefined))
    await again
    await Promise.all(asked)
    expect(await nats.request('nowhere', '')).to.have.property('code', 503)
  })
})
