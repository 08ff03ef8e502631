import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { newDataFolder, removeFolder, startServer } from '../support/server.ts'

describe('a server whose port another program has', () => {
  it('leaves no process id behind, which may be another program’s when somebody signals it', async () => {
    const dataFolder = await newDataFolder()
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    try {
      const failure = await startServer({
        dataFolder,
        port,
        form: 'embedded',
        environment: { HOST: '127.0.0.1' },
      }).catch(String)
      expect(failure).to.include('another program has this port')
      expect(existsSync(join(dataFolder, 'lock'))).to.equal(true)
      expect(existsSync(join(dataFolder, 'lock.pid'))).to.equal(false)
    } finally {
      other.close()
      await removeFolder(dataFolder)
    }
  })
})
