import { expect } from 'chai'
import { plans } from '#src/config.ts'
import { keepingOf, longestKeeping } from '#src/directory/plans.ts'
import { createWorkspacePlans } from '#src/directory/workspace-plans.ts'
import { sealDirectoryEvent } from '#src/events/directory.ts'
import { createWorkspace, day, newStream, openDirectory, valueOf } from './harness.ts'

describe('the plans that retention goes by', () => {
  it('are those of the directory, past and present, whenever they are read', async () => {
    const stream = newStream()
    const { directory, clock } = await openDirectory({ stream })
    const workspacePlans = createWorkspacePlans(stream, plans)
    expect([...(await workspacePlans.read())]).to.deep.equal([])
    const { id } = await createWorkspace(directory, 'Acme', 'free')
    const other = await createWorkspace(directory, 'Other', 'pro')
    expect((await workspacePlans.read()).get(id)).to.deep.equal({ retentionDays: 7, formerPlans: [] })
    clock.advance(2 * day)
    const until = clock()
    valueOf(await directory.changePlan(id, 'pro'))
    const read = await workspacePlans.read()
    expect(read.get(id)).to.deep.equal({ retentionDays: 30, formerPlans: [{ retentionDays: 7, until }] })
    for (const workspace of directory.workspaces()) {
      expect(read.get(workspace.id), workspace.name).to.deep.equal(keepingOf(workspace))
    }
    clock.advance(2 * day)
    valueOf(await directory.changePlan(id, 'free'))
    expect((await workspacePlans.read()).get(id)?.formerPlans).to.deep.equal([
      { retentionDays: 7, until },
      { retentionDays: 30, until: clock() },
    ])
    expect(read.size).to.equal(2)
    expect(read.get(other.id)?.retentionDays).to.equal(30)
    valueOf(await directory.eraseWorkspace(other.id))
    // As of another process, which had not seen the erasure.
    const late = { workspaceId: other.id, from: 'pro', plan: 'free' }
    await stream.append([sealDirectoryEvent({ type: 'directory.workspace.planChanged', ...late }, clock(), 'late')])
    expect([...(await workspacePlans.read()).keys()]).to.deep.equal([id])
    await directory.close()
  })

  it('are read to the end of the directory, also where that is more than is read at once', async () => {
    const stream = newStream()
    const others = Array.from({ length: 1_100 }, (_, index) =>
      sealDirectoryEvent({ type: 'directory.session.continued', session: `${index}` }, 0, `${index}`.padStart(32, '0')),
    )
    await stream.append(others)
    const { directory } = await openDirectory({ stream })
    const { id } = await createWorkspace(directory, 'Acme', 'free')
    expect((await createWorkspacePlans(stream, plans).read()).get(id)?.retentionDays).to.equal(7)
    await directory.close()
  })

  it('are the longest of the table where nothing is known', () => {
    expect(longestKeeping(plans).retentionDays).to.equal(30)
  })
})
