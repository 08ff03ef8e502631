import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect } from 'chai'

describe('a process that tests have started', () => {
  it('ends with them, also where they are told to end', async () => {
    const listening = createServer().listen(0, '127.0.0.1')
    await once(listening, 'listening')
    const { port } = listening.address() as AddressInfo
    const started = JSON.stringify(['-e', `require('node:net').connect(${port}, '127.0.0.1')`])
    const program = `import('#test/support/server-process.ts').then(({ startProcess }) => startProcess(${started}, {}))`
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const tests = spawn(process.execPath, ['-e', program], { stdio: 'inherit' })
      const [socket] = (await once(listening, 'connection')) as [Socket]
      const closed = once(socket.on('error', () => undefined).resume(), 'close')
      const ended = once(tests, 'exit')
      tests.kill(signal)
      expect((await ended)[0], signal).to.equal(1)
      await closed
    }
    listening.close()
  })
})
