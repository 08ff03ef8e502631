import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import type { NatsConnection } from 'nats'
import { keepOneSocket } from '#streams/jetstream/one-socket.ts'

describe('what a client of NATS has tried before', () => {
  let server: Server
  let heard: string[]
  let tried: Socket[]
  let failures: unknown[]

  /** A client that makes a transport for each attempt, and hears of the end of its socket. */
  function start() {
    const dial = (): Promise<void> => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      for (const event of ['close', 'error']) socket.on(event, () => heard.push(event))
      tried.push(socket)
      return Promise.resolve()
    }
    const protocol = {
      transport: { connect: dial },
      prepare: () => void (protocol.transport = { connect: dial }),
      disconnect: () => undefined,
    }
    return {
      protocol,
      close: keepOneSocket({ protocol } as unknown as NatsConnection, (error) => failures.push(error)),
    }
  }
  /** Until the ends of all sockets have been told. */
  const ended = () => once(server.close(), 'close')

  beforeEach(async () => {
    ;[heard, tried, failures] = [[], [], []]
    server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => {
    for (const socket of tried) socket.destroy()
    server.close()
  })

  it('is closed before the next attempt, and in the end, and the client hears nothing of it', async () => {
    const { protocol, close } = start()
    for (let attempt = 0; attempt < 2; attempt++) {
      protocol.prepare()
      await protocol.transport.connect()
    }
    const [first, second] = tried
    expect([first?.destroyed, second?.destroyed]).to.deep.equal([true, false])
    await once(second as Socket, 'connect')
    close()
    expect(second?.destroyed).to.equal(true)
    await ended()
    expect(heard).to.deep.equal([])
  })

  it('may have failed just now', async () => {
    const { protocol, close } = start()
    protocol.prepare()
    await protocol.transport.connect()
    tried[0]?.destroy(new Error('refused'))
    close()
    await ended()
    expect(heard).to.deep.equal([])
  })

  it('is watched for no longer than it is made', async () => {
    const { protocol } = start()
    protocol.prepare()
    await protocol.transport.connect()
    expect(channel('net.client.socket').hasSubscribers).to.equal(false)
  })
})
