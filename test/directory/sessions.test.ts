import { expect } from 'chai'
import { sealDirectoryEvent } from '#src/events/directory.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import { sessionHashOf } from '#src/directory/directory-view.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { createWorkspace, day, limits, openDirectory, valueOf, type Opened } from './harness.ts'

describe('sessions of the directory', () => {
  let one: Opened
  let directory: Directory
  let workspace: Workspace
  beforeEach(async () => {
    one = await openDirectory()
    directory = one.directory
    workspace = await createWorkspace(directory, 'Acme')
  })
  afterEach(() => directory.close())

  const user = async () => {
    const wanted = { email: 'ann@acme.example', password: 'a long password', workspaceId: workspace.id }
    return valueOf(await directory.createUser(wanted))
  }
  const started = async (id: string, userId: string, address = '') => {
    await directory.startSession({ id, userId, workspaceId: workspace.id, address })
    return directory.session(id)
  }
  const id = 's'.repeat(32)

  it('are of one person in one workspace, and only their hash is written', async () => {
    const ann = await user()
    expect(await started(id, ann.id)).to.deep.equal({
      id,
      userId: ann.id,
      email: ann.email,
      workspaceId: workspace.id,
      startedAt: one.clock(),
    })
    const log = await one.stream.read(0, 100)
    expect(log.map(({ payload }) => Buffer.from(payload).toString()).join()).to.not.include(id)
  })

  it('end for good', async () => {
    const ann = await user()
    await started(id, ann.id)
    await directory.endSession(id, 'signedOut')
    expect(directory.session(id)).to.equal(undefined)
    await directory.endSession(id, 'signedOut')
  })

  it('end once, also where two processes end one at the same time', async () => {
    const ann = await user()
    await started(id, ann.id)
    const ended = { type: 'directory.session.ended', session: sessionHashOf(id), userId: ann.id } as const
    for (const reason of ['signedOut', 'replaced'] as const) {
      await one.stream.append([sealDirectoryEvent({ ...ended, reason }, one.clock(), reason)])
    }
    expect(await directory.followed(await one.stream.head(), 60_000)).to.equal(true)
    expect([directory.session(id), one.stops]).to.deep.equal([undefined, []])
  })

  it('end when they are idle, and go on while they are used, in other processes too', async () => {
    const ann = await user()
    const { directory: other } = await openDirectory({ stream: one.stream, clock: one.clock })
    await started(id, ann.id)
    const written = await one.stream.head()
    one.clock.advance(limits.sessionIdleMs / 10)
    await directory.continueSession(id)
    expect(await one.stream.head(), 'not written at every use').to.equal(written)
    one.clock.advance(limits.sessionIdleMs * 0.8)
    await Promise.all([directory.continueSession(id), directory.continueSession(id)])
    expect(await one.stream.read(written, 10), 'written once').to.have.length(1)
    // Another process's clock may be behind.
    const earlier = { type: 'directory.session.continued', session: sessionHashOf(id) } as const
    await one.stream.append([sealDirectoryEvent(earlier, one.clock() - 1, 'f'.repeat(32))])
    one.clock.advance(limits.sessionIdleMs - 1)
    await other.followed(await one.stream.head(), 60_000)
    expect(other.session(id)).to.not.equal(undefined)
    one.clock.advance(1)
    expect(other.session(id)).to.equal(undefined)
    await directory.continueSession(id)
    expect(directory.session(id), 'too late').to.equal(undefined)
    await other.close()
  })

  it('end after their longest time, however much they are used', async () => {
    const ann = await user()
    await started(id, ann.id)
    for (let used = 0; used < 29; used++) {
      one.clock.advance(day)
      await directory.continueSession(id)
    }
    const startedAt = one.clock() - 29 * day
    const next = { id: 't'.repeat(32), userId: ann.id, workspaceId: workspace.id, address: '', since: startedAt }
    await directory.startSession(next)
    expect([id, next.id].map((each) => directory.session(each)?.startedAt)).to.deep.equal([startedAt, startedAt])
    one.clock.advance(day)
    expect([id, next.id].map((each) => directory.session(each))).to.deep.equal([undefined, undefined])
  })

  it('beyond a thousand of one person end, the oldest first', async () => {
    const ann = await user()
    const ids = Array.from({ length: 1_001 }, (_, at) => `session-number-${at}`)
    for (const each of ids) await started(each, ann.id)
    expect(directory.session(ids[0]!)).to.equal(undefined)
    expect(directory.session(ids[1]!)).to.not.equal(undefined)
  })

  it('that have ended are none of the thousand', async () => {
    const few = await openDirectory({ stream: one.stream, clock: one.clock, limits: { sessionsPerUserMax: 2 } })
    const ann = await user()
    await few.directory.followed(await one.stream.head(), 60_000)
    const start = (name: string) =>
      few.directory.startSession({ id: name, userId: ann.id, workspaceId: workspace.id, address: '' })
    const live = () => ['a', 'b', 'c', 'd'].filter((name) => few.directory.session(name) !== undefined)
    await start('a')
    await start('b')
    await few.directory.endSession('a', 'signedOut')
    await start('c')
    expect(live()).to.deep.equal(['b', 'c'])
    await start('d')
    expect(live()).to.deep.equal(['c', 'd'])
    await few.directory.close()
  })

  it('make the last ten addresses known as their person’s', async () => {
    const ann = await user()
    for (let at = 0; at < 11; at++) await started(`session-number-${at}`, ann.id, `192.0.2.${at}`)
    expect(directory.isKnownAddress(ann.id, '192.0.2.0')).to.equal(false)
    expect(directory.isKnownAddress(ann.id, '192.0.2.1')).to.equal(true)
    await started(id, ann.id, '')
    expect(directory.isKnownAddress(ann.id, ''), 'none is known by').to.equal(false)
  })

  it('from one address are of one address, however many', async () => {
    const ann = await user()
    for (let at = 0; at < 12; at++) await started(`session-number-${at}`, ann.id, at === 0 ? '192.0.2.1' : '192.0.2.2')
    expect(directory.isKnownAddress(ann.id, '192.0.2.1')).to.equal(true)
  })

  it('from one IPv6 network (/64) are of one address: devices change theirs every day', async () => {
    const ann = await user()
    await started('session-number-0', ann.id, '192.0.2.1')
    for (let at = 1; at < 12; at++) await started(`session-number-${at}`, ann.id, `2001:db8:1:2::${at}`)
    for (const address of ['192.0.2.1', '2001:db8:1:2::ff', '2001:db8:1:2:3:4:5:6'])
      expect(directory.isKnownAddress(ann.id, address), address).to.equal(true)
    expect(directory.isKnownAddress(ann.id, '2001:db8:1:3::1')).to.equal(false)
  })

  it('begin no later than they are written, whatever the clock says of who asked for them', async () => {
    const ann = await user()
    const ahead = { userId: ann.id, workspaceId: workspace.id, address: '', since: one.clock() + day }
    await directory.startSession({ id, ...ahead })
    expect(directory.session(id)?.startedAt).to.equal(one.clock())
  })
})
