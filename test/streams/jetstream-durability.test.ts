import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { Nats } from '#streams/jetstream/nats.ts'
import { examineDurability } from '#streams/jetstream/durability.ts'
import { rejection } from '../support/read-all.ts'

describe('whether NATS syncs, asked of a monitoring address behind a password', () => {
  const nats = { server: () => ({ id: 'ours', cluster: false }) } as unknown as Nats
  let server: Server
  beforeEach(async () => {
    server = createServer(({ headers }, response) => {
      const isKnown = headers.authorization === `Basic ${Buffer.from('user:p@ss').toString('base64')}`
      response.writeHead(isKnown ? 200 : 401)
      response.end(
        isKnown ? JSON.stringify({ server_id: 'ours', config: { sync_always: true, max_storage: 7 } }) : 'no',
      )
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => void server.close())
  const examine = (credentials: string) => {
    const { port } = server.address() as AddressInfo
    return examineDurability(nats, { monitoring: [`http://${credentials}@127.0.0.1:${port}`] })
  }

  it('is answered', async () => {
    expect(await examine('user:p%40ss')).to.deep.equal({ doubts: [], storageBytes: 7 })
  })

  it('is not, with a wrong one, which is not shown', async () => {
    const { message } = await rejection(examine('user:secret'))
    expect(message)
      .to.match(/see whether NATS syncs before it acknowledges at http:\/\/127\.0\.0\.1:\d+: .*monitoring address/)
      .and.not.to.include('secret')
  })
})
