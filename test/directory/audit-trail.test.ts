import { expect } from 'chai'
import { auditedWorkspaces, auditKindOf, createAuditTrail } from '#src/directory/audit-trail.ts'
import type { DirectoryEvent } from '#src/events/directory.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { createWorkspace, openDirectory, valueOf } from './harness.ts'

const acme = workspaceIdOf('acme')
const other = workspaceIdOf('other')

describe('audit trail', () => {
  it('gives the positions of one workspace before a place, the newest first', () => {
    const trail = createAuditTrail()
    for (const position of [1, 4, 6, 9]) trail.note(acme, position, position === 6 ? 'refused' : 'deed')
    trail.note(other, 5, 'deed')
    expect(trail.before(acme, Infinity, 10)).to.deep.equal([9, 6, 4, 1])
    expect(trail.before(acme, 9, 2)).to.deep.equal([6, 4])
    expect(trail.before(acme, 1, 2)).to.deep.equal([])
    expect(trail.before(workspaceIdOf('new'), Infinity, 2)).to.deep.equal([])
  })

  it('keeps the last ten thousand, and not many more', () => {
    const trail = createAuditTrail()
    for (let position = 1; position <= 50_000; position++) trail.note(acme, position, 'deed')
    const kept = trail.before(acme, Infinity, 50_000)
    expect(kept.length).to.be.within(10_000, 11_000)
    expect(kept[0]).to.equal(50_000)
  })

  it('keeps the deeds however much is refused', () => {
    const trail = createAuditTrail()
    trail.note(acme, 1, auditKindOf({ type: 'directory.key.created' }))
    const refused = auditKindOf({ type: 'directory.signIn.failed' })
    for (let position = 2; position <= 50_000; position++) trail.note(acme, position, refused)
    const kept = trail.before(acme, Infinity, 50_000)
    expect(kept.length).to.be.within(10_001, 11_001)
    expect([kept[0], kept.at(-1)]).to.deep.equal([50_000, 1])
  })

  it('knows whose a deed is that names no workspace', () => {
    const lookups = {
      workspacesOfUser: (userId: string) => (userId === 'u1' ? [acme, other] : []),
      workspaceOfSession: (session: string) => (session === 's1' ? acme : undefined),
    }
    const whose = (event: DirectoryEvent) => auditedWorkspaces(event, lookups)
    const failed = { type: 'directory.signIn.failed', address: '192.0.2.1', count: 1 } as const
    expect(whose({ ...failed, userId: 'u1' })).to.deep.equal([acme, other])
    expect(whose({ ...failed, userId: null })).to.deep.equal([])
    const changed = { type: 'directory.user.passwordChanged', passwordHash: 'h', keptSession: null } as const
    expect(whose({ ...changed, userId: 'u1' }), 'another password').to.deep.equal([acme, other])
    const ended = { type: 'directory.session.ended', userId: 'u1', reason: 'signedOut' } as const
    expect(whose({ ...ended, session: 's1' })).to.deep.equal([acme])
    expect(whose({ ...ended, session: 's2' })).to.deep.equal([])
    expect(whose({ type: 'directory.session.continued', session: 's1' })).to.deep.equal([])
  })

  it('has no more of what a client says than it needs', async () => {
    const { directory, stream } = await openDirectory()
    const { id: workspaceId } = await createWorkspace(directory, 'Acme')
    const ann = { email: 'ann@acme.example', password: 'a long password', workspaceId }
    const { id: userId } = valueOf(await directory.createUser(ann))
    const { key } = valueOf(await directory.createKey({ workspaceId, kind: 'logs' }))
    const long = 'x'.repeat(100_000)
    await directory.startSession({ id: 's'.repeat(32), userId, workspaceId, address: long })
    await directory.recordFailedSignIn({ userId, address: long })
    await directory.recordExport({ workspaceId, userId, query: long, format: 'csv' })
    await directory.flagExposed(key, long)
    const longest = Math.max(...(await stream.read(0, 100)).map(({ payload }) => payload.length))
    expect(longest).to.be.below(10_000)
    const { entries } = await directory.audit(workspaceId, { limit: 100 })
    const addresses = entries.flatMap(({ event }) => ('address' in event ? [event.address.length] : []))
    expect(addresses).to.deep.equal([64, 64])
    await directory.close()
  })
})
