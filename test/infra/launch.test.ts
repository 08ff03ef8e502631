import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

describe('the launcher installs', () => {
  it('the packages of development too, where the environment says production', () => {
    const root = mkdtempSync(join(tmpdir(), 'throughline-launch-'))
    try {
      cpSync('infra/launch/launch.mjs', join(root, 'infra', 'launch', 'launch.mjs'))
      mkdirSync(join(root, 'tool'))
      writeFileSync(join(root, 'tool', 'tool.js'), '#!/usr/bin/env node\nconsole.log("the tool runs")\n', {
        mode: 0o755,
      })
      const tool = { name: 'tool', version: '1.0.0', bin: 'tool.js' }
      const own = { name: 'own', version: '1.0.0', devDependencies: { tool: 'file:tool' } }
      const locked = {
        ...{ name: 'own', version: '1.0.0', lockfileVersion: 3, requires: true },
        packages: {
          '': own,
          'node_modules/tool': { resolved: 'tool', link: true },
          tool: { ...tool, dev: true, bin: { tool: 'tool.js' } },
        },
      }
      for (const [name, content] of [
        ['package.json', own],
        ['package-lock.json', locked],
        ['tool/package.json', tool],
      ] as const)
        writeFileSync(join(root, name), JSON.stringify(content))
      const argv = [join(root, 'infra', 'launch', 'launch.mjs'), '--bin', 'tool']
      const env = { ...process.env, NODE_ENV: 'production' }
      const { status, stdout, stderr } = spawnSync(process.execPath, argv, { env, encoding: 'utf8' })
      expect([status, stdout], stderr).to.deep.equal([0, 'the tool runs\n'])
    } finally {
      rmSync(root, { recursive: true, force: true, maxRetries: 3 })
    }
  })
})
