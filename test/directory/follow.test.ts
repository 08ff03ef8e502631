import { expect } from 'chai'
import { sealDirectoryEvent } from '#src/events/directory.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createWorkspace, newStream, openDirectory, valueOf, type Opened } from './harness.ts'

describe('following the directory log', () => {
  let one: Opened
  let directory: Directory
  let workspace: Workspace
  beforeEach(async () => {
    one = await openDirectory()
    directory = one.directory
    workspace = await createWorkspace(directory, 'Acme')
  })
  afterEach(() => directory.close())

  it('shows at once what another process appends', async () => {
    const { directory: other } = await openDirectory({ stream: one.stream })
    const { secret } = valueOf(await other.createKey({ workspaceId: workspace.id, kind: 'tracing' }))
    expect(await directory.followed(other.position(), 60_000)).to.equal(true)
    expect(directory.findKey(secret)).to.not.equal(undefined)
    await other.close()
  })

  it('gives the same view from the start as event by event', async () => {
    const wanted = { email: 'ann@acme.example', password: 'a long password', workspaceId: workspace.id }
    const { id: userId } = valueOf(await directory.createUser(wanted))
    await directory.startSession({ id: 's'.repeat(32), userId, workspaceId: workspace.id, address: '' })
    valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'api' }))
    const stream = { ...one.stream, read: (after: number) => one.stream.read(after, 1) }
    const { directory: later } = await openDirectory({ stream, clock: one.clock })
    expect(later.position()).to.equal(directory.position())
    expect(later.workspaces()).to.deep.equal(directory.workspaces())
    expect(later.keys(workspace.id)).to.deep.equal(directory.keys(workspace.id))
    expect(later.members(workspace.id)).to.deep.equal(directory.members(workspace.id))
    expect(later.session('s'.repeat(32))).to.deep.equal(directory.session('s'.repeat(32)))
    await later.close()
  })

  it('is behind a position that is not written yet, for as long as it was told to wait', async () => {
    expect(await directory.followed((await one.stream.head()) + 4_096, 1)).to.equal(false)
  })

  it('lets nobody wait for it once it is closed', async () => {
    const { directory: other } = await openDirectory({ stream: one.stream })
    // Longer than a test may take.
    const waiting = other.followed((await one.stream.head()) + 4_096, 1_000_000)
    await other.close()
    expect(await waiting).to.equal(false)
  })

  it('goes on after a passing failure of the log', async () => {
    const stream = newStream()
    let failures = 2
    const { directory: patient } = await openDirectory({
      stream: {
        ...stream,
        read: async (after, max) => {
          if (failures-- > 0) throw new TransientError({ operation: 'read', subject: 'the log', hint: 'busy' })
          return stream.read(after, max)
        },
      },
    })
    expect((await patient.createWorkspace({ name: 'patient', plan: 'free' })).ok).to.equal(true)
    await patient.close()
  })

  it('stops, and says so, at an event that it does not understand', async () => {
    const event = sealDirectoryEvent(
      { type: 'directory.session.ended', session: 'x', userId: 'u', reason: 'signedOut' },
      1,
      '0',
    )
    const appended = await one.stream.append([{ ...event, type: 'directory.fromTheFuture' }])
    expect(await directory.followed(appended.last, 60_000)).to.equal(false)
    expect(one.stops.map(({ message }) => message).join()).to.include('newer version')
    const outcome = await openDirectory({ stream: one.stream }).catch((error: unknown) => error)
    expect(outcome).to.have.property('name', 'PermanentError')
  })
})
