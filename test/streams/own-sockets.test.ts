import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { closingWhatFails } from '#streams/jetstream/own-sockets.ts'
import { rejection } from '../support/read-all.ts'

describe('sockets of attempts to connect', () => {
  let server: Server
  let port: number
  beforeEach(async () => {
    server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  afterEach(() => server.close())

  async function attempt(): Promise<Socket> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }

  it('are closed where the attempt failed, but for the one that did not', async () => {
    const sockets: Socket[] = []
    const live = await closingWhatFails(async () => {
      sockets.push(await attempt())
      return attempt()
    })
    expect([sockets[0]?.destroyed, live.destroyed]).to.deep.equal([true, false])
    live.destroy()
  })

  it('are all closed where all failed, and no others that were made meanwhile', async () => {
    const sockets: Socket[] = []
    const failing = async (): Promise<never> => {
      sockets.push(await attempt(), await attempt())
      throw new Error('no greeting')
    }
    const [other] = await Promise.all([closingWhatFails(attempt), rejection(closingWhatFails(failing))])
    expect([other, ...sockets].map(({ destroyed }) => destroyed)).to.deep.equal([false, true, true])
    other.destroy()
  })
})
