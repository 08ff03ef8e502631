import { expect } from 'chai'
import { rejection } from '#test/support/read-all.ts'
import { createTestClock, createWorkspace, limits, openDirectory, valueOf } from './harness.ts'

describe('a clock that was set back to a time before this program, while people work', () => {
  it('keeps all that they do from being written, and what they have from ending', async () => {
    const clock = createTestClock()
    const { directory, stream } = await openDirectory({ clock })
    const { id: workspaceId } = await createWorkspace(directory, 'acme')
    const email = 'ann@acme.example'
    const { id: userId } = valueOf(await directory.createUser({ email, password: 'a long password', workspaceId }))
    const created = valueOf(await directory.createKey({ workspaceId, kind: 'logs', name: 'a' }))
    await directory.startSession({ id: 'first', userId, workspaceId, address: '::1' })
    const [head, right] = [await stream.head(), clock()]
    const works = () => [directory.findKey(created.secret)?.id, directory.session('first')?.userId]
    for (const wrong of [60_000, limits.clockMinMs - 1]) {
      clock.advance(wrong - clock())
      const refused = [
        directory.startSession({ id: 'second', userId, workspaceId, address: '::1' }),
        directory.rotateKey({ workspaceId, keyId: created.key.id, overlapMs: 3_600_000 }),
        directory.createWorkspace({ name: 'other', plan: 'free' }),
      ]
      for (const each of refused) {
        const { name, message } = await rejection(each)
        const said = new Date(wrong).toISOString()
        expect([name, message]).to.deep.equal([
          'TransientError',
          `write to the directory with a clock that says ${said} (set it first)`,
        ])
      }
      expect(await stream.head()).to.equal(head)
      expect(works()).to.deep.equal([created.key.id, userId])
    }
    clock.advance(right - clock())
    await directory.startSession({ id: 'second', userId, workspaceId, address: '::1' })
    expect(directory.session('second')?.userId).to.equal(userId)
    await directory.close()
  })
})
