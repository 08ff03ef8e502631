import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { writeDurably } from '#src/lib/durable-files.ts'

const module = new URL('../../src/lib/durable-files.ts', import.meta.url).href

describe('a file that is written durably', () => {
  let folder = ''
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'throughline-durable-'))))
  afterEach(() => rmSync(folder, { recursive: true }))

  it('is its owner’s alone, and replaces none', () => {
    const file = join(folder, 'one')
    writeDurably(file, 'é')
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).to.deep.equal(['é', 0o600])
    expect(() => writeDurably(file, 'other')).to.throw(/EEXIST/)
    writeDurably(file, 'more', 'w')
    expect(readFileSync(file, 'utf8')).to.equal('more')
  })

  it('is refused where there is room for a part of it only', async () => {
    const file = join(folder, 'large')
    const program = `
      const { writeDurably } = await import(${JSON.stringify(module)})
      try {
        writeDurably(${JSON.stringify(file)}, 'x'.repeat(100_000))
        console.log('written')
      } catch ({ code }) {
        console.log(code)
      }`
    const command = ['-c', 'ulimit -f 2 && exec "$0" --input-type=module -e "$1"', process.execPath, program]
    const { stdout } = await promisify(execFile)('sh', command)
    expect(stdout).to.equal('EFBIG\n')
  })
})
