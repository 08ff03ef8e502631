import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { writeClusterSecrets } from '#src/directory/cluster-secrets.ts'
import { runVerb } from '../support/run-program.ts'
import { startProcess } from '../support/server-process.ts'

describe('a server on a data folder whose log was moved to a cluster', () => {
  it('says at its start that the two logs diverge, and what to do where that cluster is not used', async () => {
    const dataFolder = mkdtempSync(join(tmpdir(), 'throughline-moved-'))
    const file = writeClusterSecrets(dataFolder, { pepper: 'p'.repeat(32), sessionKeys: ['s'.repeat(32)] })
    const argv = ['src/main.ts', '--port', '0', '--host', '127.0.0.1']
    const server = startProcess(argv, { THROUGHLINE_DATA: dataFolder })
    try {
      await server.printed(/^Throughline listening on /, 0)
      await server.stop()
      const told = server.lines.filter((line) => line.includes('move-log'))
      expect(told).to.deep.equal([
        `${file} is of a "throughline move-log": what is sent to this server from now on is not in that cluster. Stop it, or remove this file where ` +
          'that cluster is not used',
      ])
      expect(existsSync(file)).to.equal(true)
      const listed = await runVerb(['src/main.ts', 'workspace', 'list', '--data', dataFolder], process.env)
      expect([listed.code, listed.err.trim()]).to.deep.equal([
        0,
        `${file} is of a "throughline move-log": what is changed here is not changed in that cluster. Name that cluster in NATS_URL, or remove this ` +
          'file where that cluster is not used',
      ])
    } finally {
      rmSync(dataFolder, { recursive: true })
    }
  })
})
