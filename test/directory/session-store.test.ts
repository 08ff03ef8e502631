import { expect } from 'chai'
import { createSessionStore } from '#src/directory/session-store.ts'
import { createWorkspace, limits, openDirectory, valueOf, type Opened } from './harness.ts'

const id = 's'.repeat(32)

describe('session store', () => {
  let one: Opened
  beforeEach(async () => {
    one = await openDirectory()
  })
  afterEach(() => one.directory.close())

  async function startSession() {
    const workspace = await createWorkspace(one.directory, 'Acme')
    const wanted = { email: 'ann@acme.example', password: 'a long password', workspaceId: workspace.id }
    const { id: userId, email } = valueOf(await one.directory.createUser(wanted))
    const signedIn = {
      userId,
      email,
      workspaceId: workspace.id,
      startedAt: one.clock(),
      address: '192.0.2.1',
      passwordPosition: one.directory.passwordPosition(userId),
    }
    return { position: await createSessionStore(one.directory).start(id, signedIn), signedIn }
  }

  it('starts, gives and ends what the directory knows', async () => {
    const store = createSessionStore(one.directory)
    const { position, signedIn } = await startSession()
    const { address, passwordPosition, ...session } = signedIn
    expect(passwordPosition).to.be.above(0)
    expect(position).to.equal(await one.stream.head())
    expect(await store.get(id, position)).to.deep.equal({ id, ...session })
    expect(one.directory.isKnownAddress(session.userId, address)).to.equal(true)
    one.clock.advance(limits.sessionIdleMs / 2)
    await store.get(id, position)
    await one.directory.followed(position + 1, 60_000)
    expect(one.directory.sessionSeenAt(id), 'in use').to.equal(one.clock())
    await store.end(id, 'signedOut')
    expect(await store.get(id, position)).to.equal(undefined)
  })

  it('starts none with a password that has been changed since it was checked', async () => {
    const { signedIn } = await startSession()
    const password = 'another long password'
    expect((await one.directory.changePassword({ userId: signedIn.userId, password })).ok).to.equal(true)
    const store = createSessionStore(one.directory)
    const late = 't'.repeat(32)
    expect(await store.get(late, await store.start(late, signedIn))).to.equal(undefined)
  })

  /** A process that reads nothing more of the log until it is let. */
  async function openBehind(): Promise<Readonly<{ late: Opened; letRead: () => void }>> {
    const gate = Promise.withResolvers<void>()
    let isBehind = false
    const late = await openDirectory({
      clock: one.clock,
      stream: {
        ...one.stream,
        read: async (after, max) => {
          if (isBehind) await gate.promise
          return one.stream.read(after, max)
        },
      },
    })
    isBehind = true
    return { late, letRead: gate.resolve }
  }

  it('starts none in a workspace that somebody was taken out of meanwhile', async () => {
    const { signedIn } = await startSession()
    const { workspaceId, userId } = signedIn
    valueOf(await one.directory.createUser({ email: 'bob@acme.example', password: 'a long password', workspaceId }))
    valueOf(await one.directory.removeMember({ workspaceId, userId }))
    const store = createSessionStore(one.directory)
    // As by a process that has not heard of it yet.
    const position = await store.start(id, signedIn)
    expect(await store.get(id, position)).to.equal(undefined)
  })

  it('in a process that is behind the cookie waits until it has followed', async () => {
    const { late, letRead } = await openBehind()
    const { position } = await startSession()
    const store = createSessionStore(late.directory)
    expect(await store.get(id, 0), 'without a position').to.equal(undefined)
    const found = store.get(id, position)
    letRead()
    expect((await found)?.id).to.equal(id)
    await late.directory.close()
  })

  it('signs nobody out in a process that is slow to follow: it cannot be told there yet', async () => {
    const { late, letRead } = await openBehind()
    const { position } = await startSession()
    const store = createSessionStore(late.directory)
    const failure = await store.get(id, position).catch((error: Error) => error)
    expect(failure).to.include({ name: 'TransientError' })
    letRead()
    expect((await store.get(id, position))?.id).to.equal(id)
    await late.directory.close()
  })

  it('gives no session for a position that never comes', async () => {
    const { position } = await startSession()
    const found = await createSessionStore(one.directory).get('x'.repeat(32), position + 4_096_000)
    expect(found).to.equal(undefined)
  })
})
