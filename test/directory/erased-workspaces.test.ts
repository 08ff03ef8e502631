import { expect } from 'chai'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { checkEntitlement } from '#src/directory/entitlement.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import { createWorkspace, openDirectory, passwords, valueOf, type Opened } from './harness.ts'

const password = 'a long password'

describe('workspaces', () => {
  let one: Opened
  let directory: Directory
  let workspace: Workspace
  beforeEach(async () => {
    one = await openDirectory()
    directory = one.directory
    workspace = await createWorkspace(directory, 'Acme')
  })
  afterEach(() => directory.close())

  const user = async () =>
    valueOf(await directory.createUser({ email: 'ann@acme.example', password, workspaceId: workspace.id }))
  const start = (id: string, userId: string, { id: workspaceId }: Workspace) =>
    directory.startSession({ id, userId, workspaceId, address: '' })

  describe('that are erased', () => {
    const erase = async () => valueOf(await directory.eraseWorkspace(workspace.id))

    it('let nobody in any more, in every process: keys are revoked, sessions over, members without them', async () => {
      const { directory: other } = await openDirectory({ stream: one.stream })
      const ann = await user()
      const second = await createWorkspace(directory, 'Second')
      valueOf(await directory.addMember({ userId: ann.id, workspaceId: second.id }))
      const { secret } = valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'logs' }))
      await start('in-acme', ann.id, workspace)
      await start('in-second', ann.id, second)
      expect(directory.session('in-acme')?.workspaceId).to.equal(workspace.id)
      expect(await erase()).to.deep.include({ id: workspace.id, name: 'Acme' })
      await other.followed(await one.stream.head(), 60_000)
      for (const each of [directory, other]) {
        expect(each.workspace(workspace.id)).to.equal(undefined)
        expect(each.workspaceNamed('acme')).to.equal(undefined)
        expect(each.workspaces().map(({ name }) => name)).to.deep.equal(['Second'])
        expect(each.erasedWorkspaces().map(({ id }) => id)).to.deep.equal([workspace.id])
        expect(each.findKey(secret)?.revokedAt).to.equal(one.clock())
        expect(checkEntitlement(each.workspace(workspace.id), ['logs'])?.code).to.equal('entitlement_required')
        expect(each.user(ann.id)?.workspaceIds).to.deep.equal([second.id])
        expect([each.session('in-acme'), each.session('in-second')?.workspaceId]).to.deep.equal([undefined, second.id])
      }
      await other.close()
    })

    it('take no keys, members or plans', async () => {
      const ann = await user()
      await erase()
      const head = await one.stream.head()
      const refused = await Promise.all([
        directory.createKey({ workspaceId: workspace.id, kind: 'logs' }),
        directory.addMember({ userId: ann.id, workspaceId: workspace.id }),
        directory.changePlan(workspace.id, 'free'),
      ])
      expect(refused.map((each) => !each.ok && each.error.code)).to.deep.equal(['unknown', 'unknown', 'unknown'])
      expect(await one.stream.head(), 'nothing is written of a workspace that is gone').to.equal(head)
    })

    it('take none at that moment either: nobody is told that something was done in a workspace which is gone', async () => {
      const { directory: other } = await openDirectory({ stream: one.stream })
      const ann = await user()
      const second = await createWorkspace(directory, 'Second')
      const ben = valueOf(await directory.createUser({ email: 'ben@acme.example', password, workspaceId: second.id }))
      const { key } = valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'logs' }))
      await other.followed(await one.stream.head(), 60_000)
      const [erased, ...refused] = await Promise.all([
        directory.eraseWorkspace(workspace.id),
        other.createKey({ workspaceId: workspace.id, kind: 'logs' }),
        other.rotateKey({ workspaceId: workspace.id, keyId: key.id, overlapMs: 0 }),
        other.createUser({ email: 'eve@acme.example', password, workspaceId: workspace.id }),
        other.addMember({ userId: ben.id, workspaceId: workspace.id }),
        other.addMember({ userId: ann.id, workspaceId: workspace.id, role: 'owner' }),
        other.changePlan(workspace.id, 'free'),
      ])
      expect(erased.ok).to.equal(true)
      expect(refused.map((each) => !each.ok && each.error.code)).to.deep.equal(refused.map(() => 'unknown'))
      await other.close()
    })

    const eve = () => ({ email: 'eve@acme.example', password, workspaceId: workspace.id })

    it('take no new person: no account is made when they are erased while its password is hashed', async () => {
      const hash = async (text: string) => {
        await slow.directory.followed((await erase()).position, 60_000)
        return passwords.hash(text)
      }
      const slow = await openDirectory({ stream: one.stream, passwords: { ...passwords, hash } })
      const refused = await slow.directory.createUser(eve())
      expect(refused).to.deep.include({ ok: false }).and.have.nested.property('error.field', 'workspace')
      expect(slow.directory.userByEmail('eve@acme.example')).to.equal(undefined)
      await slow.directory.close()
    })

    it('may leave an account behind that was made at that moment, and the refusal says so', async () => {
      const append: Stream['append'] = async (...given) => {
        await erase()
        return one.stream.append(...given)
      }
      const late = await openDirectory({ stream: { ...one.stream, append } })
      const refused = await late.directory.createUser(eve())
      expect(late.directory.userByEmail('eve@acme.example')?.workspaceIds).to.deep.equal([])
      expect(refused.ok ? '' : refused.error.detail).to.contain('There is an account eve@acme.example now')
      await late.directory.close()
    })

    it('leave their name to another, once, however often they are erased', async () => {
      const { directory: other } = await openDirectory({ stream: one.stream })
      await Promise.all([directory, other].map((each) => each.eraseWorkspace(workspace.id)))
      await erase()
      await directory.followed(await one.stream.head(), 60_000)
      const outcomes = await Promise.all(
        [directory, directory].map((each) => each.createWorkspace({ name: 'ACME', plan: 'free' })),
      )
      expect(outcomes.filter(({ ok }) => ok)).to.have.length(1)
      const next = directory.workspaceNamed('Acme')
      expect(next?.id).to.not.equal(workspace.id)
      valueOf(await directory.eraseWorkspace(next!.id))
      expect((await createWorkspace(directory, 'Acme')).id).to.not.equal(next?.id)
      await other.close()
    })

    it('were there: the installation is not new again', async () => {
      await erase()
      expect(directory.isEmpty()).to.equal(false)
      expect((await directory.eraseWorkspace(workspaceIdOf('nobody'))).ok).to.equal(false)
    })
  })
})
