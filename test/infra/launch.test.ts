import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'

describe('the launcher keeps compiled sources', () => {
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'throughline-launch-'))
  })
  afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 }))

  /** `--help` by the launcher, with a home of its own. */
  function launch(environment: Readonly<Record<string, string>> = {}): void {
    const { NODE_COMPILE_CACHE: _cache, XDG_CACHE_HOME: _xdg, ...ours } = process.env
    const argv = ['infra/launch/launch.mjs', 'src/main.ts', '--help']
    const env = { ...ours, HOME: home, ...environment }
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { env, encoding: 'utf8' })
    expect([status, stderr]).to.deep.equal([0, ''])
    expect(stdout).to.contain('throughline')
  }
  const kept = (folder: string): number => globSync(join(folder, 'throughline', 'compiled', '*', '*')).length

  it('beside what else is brought once', () => {
    launch()
    expect(kept(join(home, '.cache'))).to.be.above(50)
    const other = join(home, 'other')
    launch({ XDG_CACHE_HOME: other })
    expect(kept(other)).to.be.above(50)
  })

  it('where its user wants them', () => {
    launch({ NODE_COMPILE_CACHE: join(home, 'wanted') })
    expect(existsSync(join(home, '.cache'))).to.equal(false)
  })

  it('nowhere, where they cannot be kept, and says nothing of it', () => {
    const file = join(home, 'a file')
    writeFileSync(file, '')
    launch({ XDG_CACHE_HOME: file })
    const closed = join(home, 'closed')
    mkdirSync(closed)
    chmodSync(closed, 0o500)
    launch({ XDG_CACHE_HOME: closed })
  })
})
