import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { createDaemon, type Daemon } from '../../infra/engines/daemon.ts'
import { failureOf } from './failure-of.ts'
import { isGone } from './is-gone.ts'

describe('a program that runs beside us', () => {
  let daemon: Daemon
  beforeEach(() => {
    daemon = createDaemon('test')
  })
  afterEach(() => daemon.remove())

  const shell = (script: string) => ({ command: '/bin/sh', args: ['-c', script], environment: {} })
  const never = () => Promise.resolve(false)

  it('that ends instead of serving is shown with the end of its log', async () => {
    const message = await failureOf(daemon.start(shell('echo out; echo why >&2; exit 3'), never, 30_000))
    expect(message).to.match(/^test ended\. The end of its log:\n/)
    expect(message).to.include('why').and.to.include('out')
  })

  it('that is not there says so', async () => {
    const launch = { command: '/no/such/program', args: [], environment: {} }
    expect(await failureOf(daemon.start(launch, never, 30_000))).to.include('ENOENT')
  })

  it('that does not get ready is killed with all it started', async () => {
    let group: number | undefined
    const look = async () => {
      group ??= daemon.group()
      return false
    }
    // It heeds no SIGTERM, and neither does its child.
    const message = await failureOf(daemon.start(shell("trap '' TERM; sleep 100 & sleep 100; sleep 100"), look, 200))
    expect(message).to.include('was not ready after 0.2 s')
    expect(isGone(group)).to.equal(true)
  })

  it('is gone with its folder when it is removed', async () => {
    await daemon.start(shell('exec sleep 100'), () => Promise.resolve(true), 1_000)
    const group = daemon.group()
    expect(isGone(group)).to.equal(false)
    await daemon.remove()
    expect(isGone(group)).to.equal(true)
    expect(existsSync(daemon.folder)).to.equal(false)
    daemon = createDaemon('test')
  })
})
