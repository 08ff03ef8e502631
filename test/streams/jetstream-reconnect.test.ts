import { createSocket, type RemoteInfo } from 'node:dgram'
import { getServers, resolve4, setServers } from 'node:dns'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect } from 'chai'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { startFront, type NatsFront } from './nats-front.ts'
import { rejection } from '../support/read-all.ts'

/** Nothing here takes as long, unless it never comes. */
const patienceMs = 40_000

describe('a connection to NATS over a network that loses what is sent', () => {
  let front: NatsFront
  let nats: Nats

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    front = await startFront(new URL(await natsEngine()))
    nats = await connectNats({ url: front.urlBy('127.0.0.1'), greetingMs: 1_000, timeoutMs: 2_000 })
  })
  afterEach(async () => {
    await nats.close()
    front.close()
  })

  it('leaves nothing of an attempt that was not answered in time', async function () {
    this.timeout(patienceMs)
    const hung = new Promise<Socket>((resolve) => front.take(resolve))
    front.lose()
    const left = await hung
    const gone = once(left.resume(), 'close')
    front.take(front.passOn)
    await new Promise<void>((resolve) => nats.onReconnect(resolve))
    await gone
    expect(front.taken().filter(({ destroyed }) => !destroyed)).to.have.length(1)
    expect(await nats.request('nowhere', '')).to.have.property('code', 503)
  })

  it('is made again where what was sent is not taken any more, however much of it waits', async function () {
    this.timeout(patienceMs)
    const [first] = front.taken()
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

type Resolver = Readonly<{ at: string; hang(): Promise<void>; heal(): void; close(): void }>

/** Answers whoever asks for IPv4 addresses, of whatever name, with these; while it hangs, nobody, whom it may answer later. */
async function startResolver(addresses: readonly string[]): Promise<Resolver> {
  const socket = createSocket('udp4')
  let onHeld: (() => void) | undefined
  const held: (() => void)[] = []
  const answer = (query: Buffer, { address, port }: RemoteInfo): void => {
    // The question ends with its type, of two bytes, and its class.
    const end = query.indexOf(0, 12) + 5
    const isIPv4 = query.readUInt16BE(end - 4) === 1
    const found = isIPv4 ? addresses : []
    const head = Buffer.from(query.subarray(0, end))
    head.writeUInt16BE(0x81_80, 2)
    head.writeUInt16BE(found.length, 6)
    head.writeUInt32BE(0, 8)
    const records = found.map((each) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...each.split('.').map(Number)]),
    )
    socket.send(Buffer.concat([head, ...records]), port, address)
  }
  socket.on('message', (query, from) => {
    if (onHeld === undefined) return answer(query, from)
    held.push(() => answer(query, from))
    return onHeld()
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    at: `127.0.0.1:${socket.address().port}`,
    hang: () => new Promise((resolve) => (onHeld = resolve)),
    heal: () => {
      onHeld = undefined
      for (const late of held.splice(0)) late()
    },
    close: () => void socket.close(),
  }
}

describe('a name of a NATS server that is resolved no more', () => {
  const servers = getServers()
  let front: NatsFront
  let resolver: Resolver
  let nats: Nats

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async function () {
    this.timeout(20_000)
    resolver = await startResolver(['127.0.0.1'])
    setServers([resolver.at])
    front = await startFront(new URL(await natsEngine()))
    nats = await connectNats({ url: front.urlBy('nats.test') })
  })
  afterEach(async () => {
    await nats.close()
    setServers(servers)
    resolver.close()
    front.close()
  })

  it('leads where it did before', async () => {
    void resolver.hang()
    const again = new Promise<void>((resolve) => nats.onReconnect(resolve))
    front.lose()
    await again
    expect(await nats.request('nowhere', '')).to.have.property('code', 503)
  }).timeout(20_000)

  it('leads nowhere once the connection was closed', async () => {
    const asked = resolver.hang()
    front.lose()
    await asked
    await nats.close()
    resolver.heal()
    // Whoever goes on with what was resolved before this connects before this does.
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => resolve4('nats.test', resolve))
    const own = connect(front.at.port, front.at.address)
    await Promise.all([once(own, 'connect'), front.come()])
    const ports = [own.localPort]
    own.destroy()
    expect(front.taken().map(({ remotePort }) => remotePort)).to.deep.equal(ports)
  })
})

describe('a name of several NATS servers', () => {
  it('is asked for another one soon where one hangs', async function () {
    this.timeout(30_000)
    const resolver = await startResolver(['127.0.0.1', '127.0.0.2'])
    const servers = getServers()
    setServers([resolver.at])
    const asked = new Set<string>()
    const hung = createServer((socket) => void asked.add(String(socket.on('error', () => undefined).localAddress)))
    hung.listen(0, '0.0.0.0')
    await once(hung, 'listening')
    try {
      const url = `nats://nats.test:${(hung.address() as AddressInfo).port}`
      expect((await rejection(connectNats({ url }))).message).to.match(/nats\.test.*is nats-server running there/)
      expect([...asked].sort()).to.deep.equal(['127.0.0.1', '127.0.0.2'])
    } finally {
      setServers(servers)
      resolver.close()
      hung.close()
    }
  })
})
