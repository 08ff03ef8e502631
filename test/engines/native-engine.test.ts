import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { startNative } from '../../infra/engines/native-engine.ts'
import { failureOf } from './failure-of.ts'

describe('a server of this machine', () => {
  it('that could not be laid out, as on a full disk, leaves no folder behind', async () => {
    let made = ''
    const launch = (folder: string): never => {
      made = folder
      throw new Error('no space left on device')
    }
    const probe = { url: 'http://127.0.0.1:1/' }
    expect(await failureOf(startNative({ name: 'test', url: '', probe, launch }))).to.equal('no space left on device')
    expect(existsSync(made)).to.equal(false)
  })
})
