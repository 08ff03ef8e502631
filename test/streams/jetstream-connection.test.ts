import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { connectNats } from '#streams/jetstream/connect.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'

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
})
