import { expect } from 'chai'
import type { RecordedEvent } from '#src/events/envelope.ts'
import type { Stream } from '#streams/stream.ts'
import { createWorkspace, newStream, openDirectory, valueOf } from './harness.ts'

const session = 's'.repeat(32)

/** A little of everything that a directory knows. */
async function fill(stream: Stream): Promise<void> {
  const { directory } = await openDirectory({ stream })
  const workspace = await createWorkspace(directory, 'Acme')
  const other = await createWorkspace(directory, 'Other', 'free')
  const wanted = { email: 'ann@acme.example', password: 'a long password', workspaceId: workspace.id }
  const { id: userId } = valueOf(await directory.createUser(wanted))
  valueOf(await directory.createUser({ ...wanted, email: 'bob@acme.example', workspaceId: other.id }))
  valueOf(await directory.addMember({ workspaceId: other.id, userId }))
  const key = valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'tracing' })).key
  valueOf(await directory.createKey({ workspaceId: other.id, kind: 'logs' }))
  valueOf(await directory.rotateKey({ workspaceId: workspace.id, keyId: key.id, overlapMs: 1_000 }))
  valueOf(await directory.changePlan(workspace.id, 'free'))
  await directory.startSession({ id: session, userId, workspaceId: workspace.id, address: '::1' })
  valueOf(await directory.changePassword({ userId, password: 'another long password' }))
  valueOf(await directory.removeMember({ workspaceId: other.id, userId }))
  valueOf(await directory.eraseWorkspace(other.id))
  await directory.close()
}

/** A log that has lost an event and says nothing of it, as one that was set aside and salvaged. */
const without = (stream: Stream, lost: RecordedEvent): Stream => ({
  ...stream,
  read: async (after, max) => (await stream.read(after, max)).filter(({ position }) => position !== lost.position),
})

describe('a directory that has lost events', () => {
  it('opens without any one of them, and takes new ones', async () => {
    const stream = newStream()
    await fill(stream)
    const events = await stream.read(0, 1_000)
    expect(events.length).to.be.greaterThan(12)
    for (const lost of events.slice(0, -1)) {
      const { directory, stops } = await openDirectory({ stream: without(stream, lost) })
      expect(stops, lost.type).to.deep.equal([])
      for (const { id } of directory.workspaces()) {
        directory.members(id)
        directory.keys(id)
        await directory.audit(id, { limit: 100 })
      }
      directory.userByEmail('ann@acme.example')
      directory.session(session)
      const added = await createWorkspace(directory, `After ${lost.position}`)
      const { secret } = valueOf(await directory.createKey({ workspaceId: added.id, kind: 'logs' }))
      expect(directory.findKey(secret)?.workspaceId).to.equal(added.id)
      await directory.close()
    }
  })
})
