import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { connectNats } from '#streams/jetstream/connect.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { startPlainNats } from './plain-nats.ts'
import { rejection } from '../support/read-all.ts'

describe('a connection to NATS that is broken', () => {
  let front: Server
  const sockets: Socket[] = []
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
    front.close()
  })

  it('knows what the server said of itself until another one says it: what is sent is cut to its size', async function () {
    this.timeout(enginesTimeoutMs)
    const url = new URL(await natsEngine())
    const back = Number(url.port)
    let [passes, comesAgain]: [boolean, () => void] = [true, () => undefined]
    const again = new Promise<void>((resolve) => (comesAgain = resolve))
    front = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined))
      // The next one is taken, and told nothing.
      if (!passes) return comesAgain()
      const server = connect(back, url.hostname).on('error', () => undefined)
      sockets.push(server)
      socket.pipe(server).pipe(socket)
    }).listen(0, '127.0.0.1')
    await once(front, 'listening')
    url.hostname = '127.0.0.1'
    url.port = String((front.address() as AddressInfo).port)
    const nats = await connectNats({ url: url.href })
    try {
      const said = () => [nats.payloadBytesMax(), nats.server()]
      const before = said()
      expect(before[0]).to.be.greaterThan(0)
      passes = false
      for (const socket of sockets) socket.destroy()
      await again
      expect(said()).to.deep.equal(before)
    } finally {
      await nats.close()
    }
  })

  it('is made again where the clock was set back since it was made, by more than anybody would wait', async function () {
    this.timeout(enginesTimeoutMs)
    const url = new URL(await natsEngine())
    this.timeout(30_000)
    const back = Number(url.port)
    front = createServer((socket) => {
      const server = connect(back, '127.0.0.1').on('error', () => undefined)
      sockets.push(
        socket.on('error', () => undefined),
        server,
      )
      socket.pipe(server).pipe(socket)
    }).listen(0, '127.0.0.1')
    await once(front, 'listening')
    url.hostname = '127.0.0.1'
    url.port = String((front.address() as AddressInfo).port)
    const nats = await connectNats({ url: url.href })
    const clock = Date.now
    Date.now = () => clock() - 86_400_000
    try {
      const again = new Promise<void>((resolve) => nats.onReconnect(resolve))
      for (const socket of sockets.splice(0)) socket.destroy()
      await again
      expect(await nats.request('nowhere', '')).to.have.property('code', 503)
    } finally {
      Date.now = clock
      await nats.close()
    }
  })

  it('says so where the server that came back takes another password, and only as long as it does', async function () {
    this.timeout(enginesTimeoutMs)
    const url = new URL(await natsEngine())
    const other = await startPlainNats('authorization { user: throughline, password: another }')
    /** Where connections are led; 0: nobody is there. */
    let back = Number(url.port)
    let heard = (): void => undefined
    front = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined))
      heard()
      if (back === 0) {
        socket.destroy()
        return
      }
      const server = connect(back, '127.0.0.1').on('error', () => undefined)
      sockets.push(server)
      socket.pipe(server).pipe(socket)
    }).listen(0, '127.0.0.1')
    await once(front, 'listening')
    url.hostname = '127.0.0.1'
    url.port = String((front.address() as AddressInfo).port)
    const [mine, nats] = [back, await connectNats({ url: url.href })]
    /** Leads connections elsewhere, until the client has tried twice and begins a third time. */
    const leadTo = async (port: number): Promise<void> => {
      back = port
      const tried = new Promise<void>((resolve) => {
        let count = 0
        heard = () => ++count === 3 && resolve()
      })
      for (const socket of sockets.splice(0)) socket.destroy()
      await tried
    }
    const failure = async (): Promise<string> => (await rejection(nats.request('nowhere', ''))).message
    try {
      await leadTo(Number(new URL(other.url).port))
      expect(await failure()).to.match(/it refuses the user, password or token of NATS_URL/)
      await leadTo(0)
      expect(await failure()).to.match(/is nats-server running there/)
      const again = new Promise<void>((resolve) => nats.onReconnect(resolve))
      back = mine
      await again
      expect(await nats.request('nowhere', '')).to.have.property('code', 503)
    } finally {
      await nats.close()
      await other.remove()
    }
  })
})
