import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { connectNats } from '#streams/jetstream/connect.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { enginesTimeoutMs } from '#test/support/engines.ts'
import { startFront } from './nats-front.ts'
import { startPlainNats } from './plain-nats.ts'
import { rejection } from '../support/read-all.ts'

describe('a connection to NATS by tls://', function () {
  this.timeout(enginesTimeoutMs)
  const trusted = getCACertificates('default')
  const undo: (() => Promise<void>)[] = []
  afterEach(async () => {
    setDefaultCACertificates(trusted)
    for (const each of undo.splice(0).reverse()) await each()
  })

  /** Where a server listens whose certificate, for this address, is trusted here. */
  async function startWith(address: readonly number[]): Promise<string> {
    const { certificate, key } = makeCertificate(address)
    const folder = await mkdtemp(join(tmpdir(), 'throughline-tls-'))
    undo.push(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'cert'), certificate)
    await writeFile(join(folder, 'key'), key)
    const server = await startPlainNats(`tls { cert_file: "${folder}/cert", key_file: "${folder}/key" }`)
    undo.push(() => server.remove())
    setDefaultCACertificates([...trusted, certificate])
    return `127.0.0.1:${new URL(server.url).port}`
  }

  it('is made with a server that is named by the address in its certificate', async () => {
    const address = await startWith([127, 0, 0, 1])
    const nats = await connectNats({ url: `tls://${address}` })
    expect(nats.payloadBytesMax()).to.be.greaterThan(0)
    await nats.close()
  })

  it('is refused with one whose certificate is for another address', async () => {
    const address = await startWith([127, 0, 0, 9])
    expect((await rejection(connectNats({ url: `tls://${address}` }))).message).to.match(
      /IP: 127\.0\.0\.1 is not in .*\(its certificate is not taken here/,
    )
    // Neither is it the certificate of a name.
    expect(
      (await rejection(connectNats({ url: `tls://${address.replace('127.0.0.1', 'localhost')}` }))).message,
    ).to.match(/localhost\. is not cert's CN/)
  })

  it('says what is wrong where the certificate or TLS itself is another one later, and only as long as it is', async () => {
    // In this order: only the last one is trusted.
    const [other, right] = [await startWith([127, 0, 0, 9]), await startWith([127, 0, 0, 1])]
    const plain = await startPlainNats('')
    undo.push(() => plain.remove())
    const front = await startFront(new URL(`tls://${right}`))
    undo.push(async () => front.close())
    const nats = await connectNats({ url: front.urlBy('127.0.0.1') })
    undo.push(() => nats.close())
    /** Leads connections elsewhere, until the client has tried twice and begins a third time. */
    const saidWhileAt = async (address: string): Promise<string> => {
      const tried = new Promise<void>((resolve) => {
        let count = 0
        front.take((socket) => {
          if (++count === 3) resolve()
          front.passOn(socket, Number(address.split(':').at(-1)))
        })
      })
      front.lose()
      await tried
      return (await rejection(nats.request('nowhere', ''))).message
    }
    expect(await saidWhileAt(other)).to.match(/self-signed certificate.*certificate is not taken here/)
    expect(await saidWhileAt(plain.url)).to.match(/it speaks no TLS/)
    const again = new Promise<void>((resolve) => nats.onReconnect(resolve))
    front.take(front.passOn)
    await again
    expect(await nats.request('nowhere', '')).to.have.property('code', 503)
  })
})
