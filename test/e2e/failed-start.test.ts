import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { joinFolder } from '#streams/sqlite/lock.ts'
import { startProcess } from '../support/server-process.ts'
import { newDataFolder, removeFolder, startServer } from '../support/server.ts'

describe('a server whose port another program has', () => {
  it('hears a hang-up and goes on with its start, and leaves no process id behind, which may be another program’s when somebody signals it', async () => {
    const dataFolder = await newDataFolder()
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    // It waits for this worker, as for that of a server that was killed, when it has the folder.
    const worker = joinFolder(dataFolder)
    const argv = ['src/main.ts', '--data', dataFolder, '--port', String(port), '--host', '127.0.0.1']
    const server = startProcess(argv, {})
    try {
      while (!existsSync(join(dataFolder, 'lock'))) await nextTurn()
      server.child.kill('SIGHUP')
      await nextTurn()
      worker.release()
      const failure = await server.printed(/^Throughline listening/, 0).catch(String)
      expect(failure).to.include('another program has this port')
      expect(existsSync(join(dataFolder, 'lock'))).to.equal(true)
      expect(existsSync(join(dataFolder, 'lock.pid'))).to.equal(false)
    } finally {
      await server.kill()
      other.close()
      await removeFolder(dataFolder)
    }
  })
})

describe('a server whose log and directory are gone', () => {
  it('begins no other installation in the place of the one whose keys and password are still there', async () => {
    const server = await startServer({ form: 'embedded' })
    const { dataFolder } = server
    try {
      await server.stop()
      const file = join(dataFolder, 'first-run.json')
      const before = readFileSync(file, 'utf8')
      for (const name of ['log', 'directory.db', 'index']) rmSync(join(dataFolder, name), { recursive: true })
      const failure = await startServer({ dataFolder, form: 'embedded' }).catch(String)
      expect(failure).to.include(
        `start ${file} (it is of an installation whose log and directory are not here: put them`,
      )
      expect(readFileSync(file, 'utf8')).to.equal(before)
      rmSync(file)
      const anew = await startServer({ dataFolder, form: 'embedded' })
      await anew.stop()
      expect(readFileSync(file, 'utf8')).not.to.equal(before)
    } finally {
      await removeFolder(dataFolder)
    }
  })
})
