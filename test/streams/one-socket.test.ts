import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import type { NatsConnection } from 'nats'
import { rejection } from '#test/support/read-all.ts'
import { keepOneSocket } from '#streams/jetstream/one-socket.ts'

describe('what a client of NATS has tried before', () => {
  let server: Server
  let heard: string[]
  let tried: Socket[]
  let failures: unknown[]

  /** A client that makes a transport for each attempt, and hears of the end of its socket. */
  function start(answer: () => Promise<void> = () => Promise.resolve()) {
    let times = 0
    const dial = (): Promise<void> => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      for (const event of ['close', 'error']) socket.on(event, () => heard.push(event))
      tried.push(socket)
      return answer()
    }
    const protocol = {
      transport: { connect: dial },
      prepare: () => void (protocol.transport = { connect: dial }),
      disconnect: () => void times++,
    }
    const close = keepOneSocket({ protocol } as unknown as NatsConnection, (error) => failures.push(error))
    return { protocol, disconnected: () => times, close }
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

  it('is no more, and no attempt is made, once the connection is closed: whoever waits for one hears of it', async () => {
    const { protocol, close } = start(() => new Promise(() => undefined))
    protocol.prepare()
    const attempt = protocol.transport.connect()
    close()
    expect((await rejection(attempt)).message).to.equal('the connection was closed')
    protocol.prepare()
    expect((await rejection(protocol.transport.connect())).message).to.equal('the connection was closed')
    expect(tried).to.have.length(1)
    await ended()
  })

  it('is given up where the next attempt is made', async () => {
    const { protocol } = start(() => new Promise(() => undefined))
    protocol.prepare()
    const attempt = protocol.transport.connect()
    protocol.prepare()
    expect((await rejection(attempt)).message).to.equal('the connection was closed')
  })

  it('ends at once with the connection, though what was written on it is not sent yet', async () => {
    const { protocol, disconnected } = start()
    protocol.prepare()
    await protocol.transport.connect()
    const [socket] = tried
    Object.assign(protocol.transport, { socket })
    protocol.disconnect()
    expect([socket?.destroyed, disconnected()]).to.deep.equal([true, 1])
  })

  it('is left alone where a client is made otherwise', () => {
    for (const connection of [{}, { protocol: {} }])
      expect(() => keepOneSocket(connection as unknown as NatsConnection, () => undefined)()).not.to.throw()
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
