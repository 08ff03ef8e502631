import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { newDataFolder, removeFolder, startServer } from '../support/server.ts'

describe('the files of a server', () => {
  it('are for its user alone, also in a folder that was made for others to look into, as systemd makes them', async () => {
    const dataFolder = await newDataFolder()
    chmodSync(dataFolder, 0o755)
    const before = process.umask(0o000)
    try {
      const server = await startServer({ dataFolder, form: 'embedded' })
      try {
        const files = readdirSync(dataFolder, { recursive: true, encoding: 'utf8' })
        expect(files).to.include.members(['directory.db', 'log/0.db'])
        const modeOf = (name: string) => statSync(join(dataFolder, name), { throwIfNoEntry: false })?.mode ?? 0
        expect(files.filter((name) => (modeOf(name) & 0o077) !== 0)).to.deep.equal([])
      } finally {
        await server.stop()
      }
    } finally {
      process.umask(before)
      await removeFolder(dataFolder)
    }
  }).timeout(300_000)
})
