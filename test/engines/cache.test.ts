import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { bringOnce } from '../../infra/machine/cache.ts'
import { failureOf } from './failure-of.ts'

describe('the cache of what is brought', () => {
  const before = process.env['XDG_CACHE_HOME']
  let home: string
  let cache: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'throughline-cache-'))
    cache = join(home, 'throughline')
    process.env['XDG_CACHE_HOME'] = home
  })
  afterEach(() => {
    if (before === undefined) delete process.env['XDG_CACHE_HOME']
    else process.env['XDG_CACHE_HOME'] = before
    rmSync(home, { recursive: true })
  })

  const make = async (making: string): Promise<void> => writeFileSync(making, 'made')
  const mustNotMake = (): Promise<void> => Promise.reject(new Error('made again'))
  /** A pid that was somebody's and is nobody's now. */
  const deadPid = (): number => spawnSync('true').pid

  it('makes a thing once and keeps it', async () => {
    const place = await bringOnce('thing', make)
    expect(readFileSync(place, 'utf8')).to.equal('made')
    expect(await bringOnce('thing', mustNotMake)).to.equal(place)
    expect(readdirSync(cache)).to.deep.equal(['thing'])
  })

  it('keeps nothing of what was not made to its end', async () => {
    const fail = async (making: string): Promise<void> => {
      writeFileSync(making, 'half')
      throw new Error('the line broke')
    }
    expect(await failureOf(bringOnce('thing', fail))).to.equal('the line broke')
    expect(readdirSync(cache)).to.deep.equal([])
    await bringOnce('thing', make)
  })

  it('makes it once for processes that want it at once', async () => {
    const program = join(import.meta.dirname, 'bring-once-child.ts')
    const runs = Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, [program]))
    const outputs = (await Promise.all(runs)).map(({ stdout }) => stdout.trim())
    expect(outputs.filter((line) => line === 'made')).to.have.length(1)
    expect(outputs.filter((line) => line === 'found')).to.have.length(3)
    expect(readdirSync(cache)).to.deep.equal(['thing'])
  })

  it('takes the lock of a process that died, and removes what it left half made, or another that waited', async () => {
    const pid = deadPid()
    mkdirSync(cache)
    writeFileSync(join(cache, 'thing.lock'), String(pid))
    writeFileSync(join(cache, `thing.${pid}`), 'half')
    writeFileSync(join(cache, `thing.lock.${pid}`), String(pid))
    expect(readFileSync(await bringOnce('thing', make), 'utf8')).to.equal('made')
    expect(readdirSync(cache)).to.deep.equal(['thing'])
  })

  it('does so where its own pid was theirs, as in a container, which counts anew', async () => {
    mkdirSync(cache)
    writeFileSync(join(cache, 'thing.lock'), String(process.pid))
    mkdirSync(join(cache, `thing.${process.pid}`))
    const makeFolder = async (making: string): Promise<void> => mkdirSync(making)
    await bringOnce('thing', makeFolder)
    expect(readdirSync(cache)).to.deep.equal(['thing'])
  })

  it('makes it once for two places of one process that want it at once', async () => {
    let made = 0
    const slowly = async (making: string): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      writeFileSync(making, String(++made))
    }
    await Promise.all([bringOnce('thing', slowly), bringOnce('thing', slowly)])
    expect(made).to.equal(1)
    expect(readdirSync(cache)).to.deep.equal(['thing'])
  })

  it('takes what another has brought meanwhile, as where both took the lock of one that died', async () => {
    const place = await bringOnce('thing', async (making) => {
      for (const folder of [making, join(cache, 'thing')]) {
        mkdirSync(folder)
        writeFileSync(join(folder, 'part'), 'made')
      }
    })
    expect(readFileSync(join(place, 'part'), 'utf8')).to.equal('made')
    expect(readdirSync(cache)).to.deep.equal(['thing'])
  })

  it('leaves alone what a living process is making', async () => {
    mkdirSync(cache)
    writeFileSync(join(cache, `thing.${process.ppid}`), 'half')
    await bringOnce('thing', make)
    expect(readdirSync(cache)).to.have.members(['thing', `thing.${process.ppid}`])
  })
})
