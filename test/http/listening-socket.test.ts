import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect } from 'chai'
import { bindSocket } from '#src/http/listening-socket.ts'
import { PermanentError } from '#src/lib/failure.ts'

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(() => undefined).catch((e: unknown) => e)

describe('a listening socket', () => {
  it('has a port that the system chose, by address and by name', async () => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const socket = await bindSocket({ host, port: 0 })
      expect(socket.port).to.be.greaterThan(0)
      socket.close()
      socket.close()
    }
  })

  it('says what to do when it cannot be had', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const taken = await failureOf(bindSocket({ host: '127.0.0.1', port }))
    expect(taken).to.be.instanceOf(PermanentError)
    expect(String(taken))
      .to.include(`127.0.0.1:${port}`)
      .and.to.include('another program has this port: stop that one, or set PORT')
    other.close()
    const nowhere = await failureOf(bindSocket({ host: '192.0.2.1', port: 0 }))
    expect(nowhere).to.be.instanceOf(PermanentError)
    expect(String(nowhere)).to.include('this machine does not have this address')
  })
})
