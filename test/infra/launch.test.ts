import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { runVerb } from '../support/run-program.ts'
import { read } from './manifest.ts'

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

describe('the launcher has freed memory go back to the system', () => {
  const { MALLOC_MMAP_THRESHOLD_: _mmap, MALLOC_TRIM_THRESHOLD_: _trim, ...ours } = process.env
  const set = (environment: Readonly<Record<string, string>> = {}): readonly string[] => {
    const argv = ['infra/launch/launch.mjs', '--bin', 'node', '-p', 'JSON.stringify(process.env)']
    const env = { ...ours, ...environment }
    const all = JSON.parse(spawnSync(process.execPath, argv, { env, encoding: 'utf8' }).stdout) as NodeJS.ProcessEnv
    return Object.entries(all).flatMap(([name, value]) => (name.startsWith('MALLOC_') ? [`${name}=${value}`] : []))
  }

  it('as the image does', () => {
    expect(set()).to.have.length(2)
    for (const one of set()) expect(read('Dockerfile')).to.match(new RegExp(`^ENV .*${one}\\b`, 'm'))
  })

  it('unless its user wants otherwise', () => {
    expect(set({ MALLOC_TRIM_THRESHOLD_: '1' })).to.include('MALLOC_TRIM_THRESHOLD_=1')
  })
})

describe('the launcher ends', () => {
  it('with the code of what it runs, or as a shell says which signal ended that', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-launch-'))
    const program = join(folder, 'program.mjs')
    writeFileSync(
      program,
      'const [, , end] = process.argv\nif (+end) process.exit(+end)\nprocess.kill(process.pid, end)\n',
    )
    const ended = async (end: string) => {
      const { code, err } = await runVerb(['infra/launch/launch.mjs', relative('.', program), end])
      return [code, /memory/.test(err)]
    }
    expect(await ended('2')).to.deep.equal([2, false])
    expect(await ended('SIGTERM')).to.deep.equal([143, false])
    expect(await ended('SIGKILL')).to.deep.equal([137, true])
    rmSync(folder, { recursive: true })
  })
})

describe('a run of tests in one process', () => {
  it('counts a rejection that nobody handles once, within a test as outside of it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-launch-'))
    const file = join(folder, 'rejecting.test.mjs')
    const counts = async (lines: readonly string[]) => {
      writeFileSync(file, lines.join('\n'))
      const { code, out } = await runVerb(['infra/launch/test.ts', file])
      return [code, out.trimEnd().split('\n').at(-1)]
    }
    const passes = "it('passes', () => undefined)"
    const rejects = "void Promise.reject(new Error('nobody'))"
    expect(await counts([passes])).to.deep.equal([0, '1 passed, 0 failed'])
    const within = `it('rejects', () => new Promise(() => { ${rejects} }))`
    expect(await counts([within, passes])).to.deep.equal([1, '1 passed, 1 failed'])
    expect(await counts([passes, rejects])).to.deep.equal([1, '0 passed, 1 failed'])
    rmSync(folder, { recursive: true })
  })
})

describe('the launcher installs', () => {
  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'throughline-launch-'))
    cpSync('infra/launch/launch.mjs', join(root, 'infra', 'launch', 'launch.mjs'))
    mkdirSync(join(root, 'tool'))
    writeFileSync(join(root, 'tool', 'tool.js'), '#!/usr/bin/env node\nconsole.log("the tool runs")\n', { mode: 0o755 })
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
  })
  afterEach(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }))

  const launched = (env: NodeJS.ProcessEnv) =>
    runVerb([join(root, 'infra', 'launch', 'launch.mjs'), '--bin', 'tool'], { ...process.env, ...env })

  const linkTool = 'mkdir -p node_modules/.bin && ln -s ../../tool/tool.js node_modules/.bin/tool'
  /** An environment whose npm does this alone, which takes no time. */
  const withNpm = (lines: readonly string[]): NodeJS.ProcessEnv => {
    writeFileSync(join(root, 'npm'), ['#!/bin/sh', ...lines].join('\n'), { mode: 0o755 })
    return { ...process.env, PATH: `${root}:${process.env['PATH']}` }
  }

  it('the packages of development too, where the environment says production', async () => {
    const { code, out, err } = await launched({ NODE_ENV: 'production' })
    expect([code, out], err).to.deep.equal([0, 'the tool runs\n'])
  })

  it('once, where several are started at once, also after one that was killed at it', async () => {
    const env = withNpm(['mkdir under-way || exit 1', 'echo once >> ran', 'sleep 1', linkTool, 'rmdir under-way'])
    const { pid } = spawnSync(process.execPath, ['--version'])
    writeFileSync(join(root, '.installing'), String(pid))
    const all = await Promise.all(Array.from({ length: 8 }, () => launched(env)))
    for (const { code, out, err } of all) expect([code, out], err).to.deep.equal([0, 'the tool runs\n'])
    expect(readFileSync(join(root, 'ran'), 'utf8')).to.equal('once\n')
    expect(existsSync(join(root, '.installing'))).to.equal(false)
  })

  it('also after one that was killed at it and had our pid, as in a container, which counts anew', async () => {
    const launcher = join(root, 'infra', 'launch', 'launch.mjs')
    const script = 'echo $$ > "$1/.installing"; exec "$0" "$2" --bin tool'
    const argv = ['-c', script, process.execPath, root, launcher]
    const child = spawn('/bin/sh', argv, { stdio: ['ignore', 'pipe', 'ignore'], env: withNpm([linkTool]) })
    const [out] = await Promise.all([text(child.stdout), once(child, 'close')])
    expect(out).to.equal('the tool runs\n')
  })

  it('and says how to have the Node that npm leaves out where it runs no install scripts', async () => {
    const { code, err } = await runVerb(
      [join(root, 'infra', 'launch', 'launch.mjs'), 'src/main.ts'],
      withNpm([linkTool]),
    )
    expect(code).to.equal(1)
    expect(err.trimEnd().split('\n').at(-1)).to.match(
      /^node_modules\S* cannot be run \(ENOENT\).*: npm rebuild node --ignore-scripts=false$/,
    )
    expect(err).not.to.include('launch.mjs:')
  })
})
