import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { connect as connectTo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { provisionLogs } from '#streams/jetstream/provision.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { enginesTimeoutMs } from '#test/support/engines.ts'
import { makeLarge } from '../support/make-event.ts'
import { readAll, rejection } from '../support/read-all.ts'
import { startLoad } from './jetstream-load.ts'
import { testProvision } from './jetstream-log.ts'
import { startFront, type NatsFront } from './nats-front.ts'
import { startPlainNats } from './plain-nats.ts'

/** More than is ever sent. */
const large = 100_000_000

describe('a connection to NATS by tls:// over a network that breaks', function () {
  this.timeout(enginesTimeoutMs)
  const trusted = getCACertificates('default')
  let front: NatsFront
  let nats: Nats
  let port: number
  const undo: (() => Promise<void>)[] = []

  beforeEach(async () => {
    const { certificate, key } = makeCertificate()
    const folder = await mkdtemp(join(tmpdir(), 'throughline-tls-'))
    undo.push(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'cert'), certificate)
    await writeFile(join(folder, 'key'), key)
    const server = await startPlainNats(
      `tls { cert_file: "${folder}/cert", key_file: "${folder}/key" }\njetstream { store_dir: "$FOLDER/data" }`,
    )
    undo.push(() => server.remove())
    setDefaultCACertificates([...trusted, certificate])
    port = Number(new URL(server.url).port)
    front = await startFront(new URL(`tls://127.0.0.1:${port}`))
    undo.push(async () => front.close())
    nats = await connectNats({ url: front.urlBy('127.0.0.1'), greetingMs: 1_000, timeoutMs: 2_000 })
    undo.push(() => nats.close())
  })
  afterEach(async () => {
    setDefaultCACertificates(trusted)
    for (const each of undo.splice(0).reverse()) await each()
  })

  /** Passes on so many bytes to the server, or the first that the client says, and so many from it, and no more; the connection stays. */
  const passSome = (socket: Socket, up: number | 'first', down: number): Promise<void> =>
    new Promise((resolve) => {
      const server = connectTo(port, '127.0.0.1').on('error', () => undefined)
      socket.once('close', () => server.destroy())
      const pass = (from: Socket, to: Socket, max: number | 'first'): void => {
        let passed = 0
        from.on('data', (chunk: Buffer) => {
          const left = max === 'first' ? (passed === 0 ? chunk.length : 0) : max - passed
          if (left > 0) to.write(chunk.subarray(0, left))
          passed += chunk.length
          if (left < chunk.length) resolve()
        })
      }
      pass(socket, server, up)
      pass(server, socket, down)
    })

  const back = (): Promise<void> =>
    new Promise((resolve) => {
      const stop = nats.onReconnect(() => (stop(), resolve()))
    })

  // The greeting of the server, which is not encrypted, is some hundred bytes, and so is what each says first of TLS.
  for (const [what, up, down] of [
    ['before the server answers', 0, large],
    ['in the middle of what the client says first', 100, large],
    ['in the middle of what the server says', large, 700],
    ['before the client has ended it', 'first', large],
  ] as const) {
    it(`leaves nothing of a handshake that hangs ${what}`, async () => {
      const hanging = Promise.withResolvers<Socket>()
      front.take((socket) => void passSome(socket, up, down).then(() => hanging.resolve(socket)))
      front.lose()
      const gone = once(await hanging.promise, 'close')
      const again = back()
      front.take(front.passOn)
      await again
      await gone
      expect(front.taken().filter(({ destroyed }) => !destroyed)).to.have.length(1)
      expect(await nats.request('nowhere', '')).to.have.property('code', 503)
    })

    it(`gives up, where it is the first, a handshake that hangs ${what}`, async () => {
      const taken = Promise.withResolvers<Socket>()
      front.take((socket) => {
        void passSome(socket, up, down)
        taken.resolve(socket)
      })
      const refused = rejection(connectNats({ url: front.urlBy('127.0.0.1'), greetingMs: 1_000 }))
      await once(await taken.promise, 'close')
      expect((await refused).name).to.equal('TransientError')
    })
  }

  describe('while events are written', () => {
    let stream: Stream
    beforeEach(async () => {
      await provisionLogs(nats, testProvision)
      stream = await openJetStream(nats, { partition: '0', limits })
      undo.push(() => stream.close())
    })

    /** The next connection is cut after so many bytes to the server; those after it are not. */
    const cutAfter = async (
      bytes: number,
      meanwhile: () => Promise<unknown> = async () => undefined,
    ): Promise<void> => {
      const cut = new Promise<void>((resolve) =>
        front.take((socket) => void passSome(socket, bytes, large).then(resolve)),
      )
      front.lose()
      await meanwhile()
      await cut
      front.take(front.passOn)
      front.lose()
    }

    it('loses nothing acknowledged and takes nothing twice', async () => {
      const load = startLoad([stream])
      for (const bytes of [4_000, 10_000, 20_000, 50_000]) {
        await load.progress(50)
        await cutAfter(bytes)
      }
      await load.progress(50)
      await load.stop()
      expect(load.failures()).to.be.greaterThan(0)
      await load.audit(stream)
    })

    it('loses no part of an event of several messages, and takes none twice', async () => {
      const events = Array.from({ length: 5 }, (_, n) => makeLarge(`large-${n}`, 2_500_000))
      for (const [index, event] of events.entries()) {
        const failed = Promise.withResolvers<Error>()
        await cutAfter(30_000 + index * 480_000, async () => {
          await back()
          failed.resolve(rejection(stream.append([event])))
        })
        expect((await failed.promise).name).to.equal('TransientError')
        await back()
        await stream.append([event])
      }
      const all = await readAll(stream)
      expect(all.map(({ id }) => id)).to.deep.equal(events.map(({ id }) => id))
      expect(all.map(({ crc }) => crc)).to.deep.equal(events.map(({ crc }) => crc))
    })
  })
})
