import { expect } from 'chai'
import { withoutGaps } from '#src/directory/fill-gaps.ts'
import { positionStep, type RecordedEvent } from '#src/events/envelope.ts'
import { readAll } from '../support/read-all.ts'
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

/** All that a directory tells of its workspaces. */
async function toldBy(stream: Stream): Promise<unknown> {
  const { directory, stops } = await openDirectory({ stream })
  const told = []
  for (const workspace of directory.workspaces()) {
    const { id } = workspace
    const { entries } = await directory.audit(id, { limit: 100 })
    told.push({ workspace, members: directory.members(id), keys: directory.keys(id), entries })
  }
  const others = [directory.erasedWorkspaces(), directory.userByEmail('ann@acme.example'), directory.session(session)]
  await directory.close()
  return { told, others, stops }
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

  it('is read with an event at each lost place, of which nobody hears, however much is read at once', async () => {
    const stream = newStream()
    await fill(stream)
    const events = await readAll(stream)
    const last = events.at(-1)?.position ?? 0
    for (const lost of events.slice(0, -1)) {
      const left = without(stream, lost)
      const filled = { ...left, ...withoutGaps(left) }
      const read = await readAll(filled)
      expect(read.map(({ position }) => position)).to.deep.equal(events.map(({ position }) => position))
      expect(read.filter(({ position }) => position !== lost.position)).to.deep.equal(await readAll(left))
      expect(await toldBy(filled), lost.type).to.deep.equal(await toldBy(left))
    }
    // The first ones are then cut off, and many are lost in a row.
    const kept = (position: number): boolean => position === 3 * positionStep || position === last
    const few: Stream = {
      ...stream,
      first: async () => ({ position: 3 * positionStep, receivedAt: 0, isCut: true }),
      read: async (after, max) => {
        expect(after === 0 || after >= 3 * positionStep, 'not before the cut').to.equal(true)
        return (await stream.read(after, 1_000)).filter(({ position }) => kept(position)).slice(0, max)
      },
    }
    const wholes = await Promise.all([1, 2, 5, 1_000].map((max) => readAll({ ...few, ...withoutGaps(few) }, max)))
    for (const whole of wholes) {
      expect(whole).to.deep.equal(wholes[0])
      expect(whole.map(({ position }) => position)).to.deep.equal(events.map(({ position }) => position))
    }
  })
})
