import { expect } from 'chai'
import type { DirectoryEvent } from '#src/events/directory.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { emptyDirectory, foldDirectoryEvent } from '#src/directory/directory-state.ts'
import { plans } from '#src/config.ts'
import { createWorkspace, day, limits, openDirectory, valueOf } from './harness.ts'

const password = 'a long password'

describe('a password that two change at the same moment, who both gave the one before', () => {
  it('is the one that came first, and only who set that is told so', async () => {
    const one = await openDirectory()
    const two = await openDirectory({ stream: one.stream })
    const { id: workspaceId } = await createWorkspace(one.directory, 'Acme')
    const { id: userId } = valueOf(await one.directory.createUser({ email: 'ann@acme.example', password, workspaceId }))
    const passwordPosition = one.directory.passwordPosition(userId)
    await two.directory.followed(await one.stream.head(), 60_000)
    const [wanted, changes] = [
      ['password of one', 'password of two'],
      [one, two],
    ] as const
    const told = await Promise.all(
      changes.map(({ directory }, place) =>
        directory.changePassword({ userId, password: wanted[place] ?? '', passwordPosition }),
      ),
    )
    expect(told.filter(({ ok }) => ok)).to.have.length(1)
    for (const { directory } of changes) {
      await directory.followed(await one.stream.head(), 60_000)
      const signedIn = await Promise.all(wanted.map((each) => directory.authenticate('ann@acme.example', each)))
      expect(signedIn.map((found) => found !== undefined)).to.deep.equal(told.map(({ ok }) => ok))
      await directory.close()
    }
  })
})

describe('sessions that are over', () => {
  it('count no more among those that a person may have, where their workspace was erased', async () => {
    const { directory } = await openDirectory({ limits: { sessionsPerUserMax: 2 } })
    const { id: kept } = await createWorkspace(directory, 'Kept')
    const { id: erased } = await createWorkspace(directory, 'Erased')
    const { id: userId } = valueOf(
      await directory.createUser({ email: 'ann@acme.example', password, workspaceId: kept }),
    )
    valueOf(await directory.addMember({ workspaceId: erased, userId }))
    const start = (name: string, workspaceId = kept) =>
      directory.startSession({ id: name.repeat(32), userId, workspaceId, address: '' })
    await start('a')
    await start('b', erased)
    valueOf(await directory.eraseWorkspace(erased))
    await start('c')
    expect(['a', 'c'].map((name) => directory.session(name.repeat(32))?.workspaceId)).to.deep.equal([kept, kept])
    await directory.close()
  })

  it('are forgotten with the next one that begins, whosever they were', () => {
    const state = emptyDirectory()
    const workspaceId = workspaceIdOf('acme')
    let position = 0
    const fold = (event: DirectoryEvent, at: number): void =>
      foldDirectoryEvent(state, event, { at, position: ++position }, { plans, limits })
    const begin = (userId: string, session: string, at: number): void =>
      fold({ type: 'directory.session.started', userId, session, workspaceId, address: '', passwordPosition: 1 }, at)
    for (const userId of ['ann', 'bob']) {
      position = 0
      fold({ type: 'directory.user.created', userId, email: `${userId}@acme.example`, passwordHash: 'h' }, 0)
    }
    begin('ann', 'first', 0)
    begin('ann', 'second', day)
    begin('bob', 'third', limits.sessionAbsoluteMs)
    expect([...state.sessions.keys()]).to.deep.equal(['second', 'third'])
    expect([...(state.users.get('ann')?.sessions ?? [])]).to.deep.equal(['second'])
  })
})
