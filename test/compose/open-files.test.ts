import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { checkOpenFiles, openFilesMax } from '#src/compose/open-files.ts'

describe('how many files a process may open', () => {
  it('is what Linux says of it, where it says so', () => {
    const said = (soft: string) =>
      openFilesMax(() => `Max processes    5   6   processes\nMax open files    ${soft}   4096   files\n`)
    expect([said('1024'), said('unlimited')]).to.deep.equal([1_024, undefined])
    const unknown = openFilesMax(() => {
      throw new Error('no such file')
    })
    expect(unknown).to.equal(undefined)
    checkOpenFiles(256, unknown)
    checkOpenFiles(256, 256)
    expect(() => checkOpenFiles(256, 255)).to.throw('at most 255 open files')
  })

  it('is said before a server begins that could do nothing', () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-'))
    const argv = [process.execPath, 'src/main.ts', '--port', '0', '--host', '127.0.0.1', '--data', folder]
    const { status, stderr } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...argv], { encoding: 'utf8' })
    const left = readdirSync(folder)
    rmSync(folder, { recursive: true })
    expect([status, stderr]).to.deep.equal([
      1,
      'throughline: start with at most 64 open files (it needs 256 or more, and one for each connection: raise the limit (ulimit -n))\n',
    ])
    expect(left).to.deep.equal([])
  })
})
