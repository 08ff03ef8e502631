import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { limits, settingNames } from '#src/config.ts'
import { read } from './manifest.ts'

describe('infra/throughline.service', () => {
  const unit = read('throughline.service')
  const valueOf = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? ''

  it('starts what passes signals on, waits for requests under way, and names settings that there are', () => {
    const files = valueOf('ExecStart').split(' ').slice(2)
    expect(files).to.deep.equal(['infra/launch/launch.mjs', 'src/main.ts'])
    for (const file of files) expect(existsSync(file), file).to.equal(true)
    expect(Number(valueOf('TimeoutStopSec')) * 1_000).to.be.above(limits.stopPatienceMs + 10_000)
    const names = [...valueOf('Environment').matchAll(/(\w+)=/g)].map(([, name]) => name)
    expect(names.filter((name) => name !== 'XDG_CACHE_HOME')).to.deep.equal(
      settingNames.filter((name) => names.includes(name)),
    )
  })

  it('starts when the clock is set, by which events expire', () => {
    expect(valueOf('After').split(' ')).to.include('time-sync.target')
  })
})
