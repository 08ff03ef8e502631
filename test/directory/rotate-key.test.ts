import { expect } from 'chai'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { sealDirectoryEvent } from '#src/events/directory.ts'
import { createWorkspace, openDirectory, valueOf, type Opened } from './harness.ts'

const hour = 3_600_000

describe('keys that are rotated', () => {
  let one: Opened
  let directory: Directory
  let workspace: Workspace
  beforeEach(async () => {
    one = await openDirectory()
    directory = one.directory
    workspace = await createWorkspace(directory, 'Acme')
  })
  afterEach(() => directory.close())

  const create = async (wanted: Partial<Parameters<Directory['createKey']>[0]> = {}) =>
    valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'tracing', name: 'checkout', ...wanted }))
  const rotate = (keyId: string, overlapMs = 24 * hour, workspaceId = workspace.id) =>
    directory.rotateKey({ workspaceId, keyId, overlapMs, by: 'u1' })

  it('have a successor like themselves, and work beside it until their time has come', async () => {
    const origins = ['https://shop.example']
    const old = await create({ kind: 'publishable', origins })
    const { key, secret, rotated } = valueOf(await rotate(old.key.id))
    const worksUntil = one.clock() + 24 * hour
    expect(key).to.deep.include({ kind: 'publishable', name: 'checkout', origins, worksUntil: null, revokedAt: null })
    expect([secret === old.secret, key.id === old.key.id]).to.deep.equal([false, false])
    expect(rotated).to.deep.equal({ ...old.key, worksUntil })
    // As an older program might, which gave each successor an id of its own.
    const later = {
      keyId: old.key.id,
      replacedBy: 'k2',
      worksUntil: worksUntil + hour,
      workspaceId: workspace.id,
      by: null,
    }
    const again = { type: 'directory.key.rotated', ...later } as const
    const { last } = await one.stream.append([sealDirectoryEvent(again, one.clock(), 'f'.repeat(32))])
    await directory.followed(last, 60_000)
    one.clock.advance(24 * hour - 1)
    expect(directory.findKey(old.secret)?.revokedAt).to.equal(null)
    one.clock.advance(1)
    for (const found of [directory.findKey(old.secret), directory.key(old.key.id), directory.keys(workspace.id)[0]]) {
      expect(found).to.deep.equal({ ...old.key, worksUntil, revokedAt: worksUntil })
    }
    expect(directory.findKey(secret)?.revokedAt).to.equal(null)
    // By a process whose clock is behind, to which it still works.
    const revoked = { type: 'directory.key.revoked', keyId: old.key.id, workspaceId: workspace.id, by: null } as const
    const late = await one.stream.append([sealDirectoryEvent(revoked, one.clock() + hour, 'e'.repeat(32))])
    await directory.followed(late.last, 60_000)
    expect(directory.key(old.key.id)?.revokedAt).to.equal(worksUntil)
  })

  it('keep their scopes', async () => {
    const old = await create({ kind: 'api', scopes: ['traces:read', 'logs:write'] })
    expect(valueOf(await rotate(old.key.id)).key.scopes).to.deep.equal(['traces:read', 'logs:write'])
  })

  it('end at once without an overlap, and earlier when somebody revokes them', async () => {
    const [first, second] = [await create(), await create()]
    valueOf(await rotate(first.key.id, 0))
    expect(directory.findKey(first.secret)?.revokedAt).to.equal(one.clock())
    valueOf(await rotate(second.key.id))
    one.clock.advance(hour)
    valueOf(await directory.revokeKey({ workspaceId: workspace.id, keyId: second.key.id }))
    const revokedAt = one.clock()
    one.clock.advance(48 * hour)
    expect(directory.findKey(second.secret)?.revokedAt).to.equal(revokedAt)
  })

  it('end at the same time in every process', async () => {
    const old = await create()
    valueOf(await rotate(old.key.id, hour))
    const two = await openDirectory({ stream: one.stream, clock: one.clock })
    expect(two.directory.findKey(old.secret)?.revokedAt).to.equal(null)
    one.clock.advance(hour)
    expect(two.directory.findKey(old.secret)?.revokedAt).to.equal(one.clock())
    await two.directory.close()
  })

  it('of two rotations at once follow the first', async () => {
    const old = await create()
    const two = await openDirectory({ stream: one.stream, clock: one.clock })
    const wanted = { workspaceId: workspace.id, keyId: old.key.id }
    const both = await Promise.all([
      directory.rotateKey({ ...wanted, overlapMs: hour }),
      two.directory.rotateKey({ ...wanted, overlapMs: 9 * hour }),
    ])
    expect(
      both.filter(({ ok }) => ok),
      'one successor',
    ).to.have.length(1)
    await directory.followed(await one.stream.head(), 60_000)
    expect(directory.keys(workspace.id)).to.have.length(2)
    const until = both.map((done) => done.ok && done.value.rotated.worksUntil)
    expect(new Set([...until.filter((each) => each !== false)]).size).to.equal(1)
    expect(directory.key(old.key.id)?.worksUntil).to.equal(two.directory.key(old.key.id)?.worksUntil)
    await two.directory.close()
  })

  it('are refused a second time, when revoked, for too long, and of another workspace', async () => {
    const old = await create()
    const other = await createWorkspace(directory, 'Other')
    for (const overlapMs of [-1, 31 * 24 * hour, 0.5, Number.NaN]) {
      const refused = await rotate(old.key.id, overlapMs)
      expect(!refused.ok && refused.error.field, String(overlapMs)).to.equal('overlap')
    }
    const foreign = await rotate(old.key.id, hour, other.id)
    expect(foreign).to.deep.equal(await rotate('k0', hour))
    valueOf(await rotate(old.key.id, 30 * 24 * hour))
    const again = await rotate(old.key.id)
    expect(!again.ok && again.error.detail).to.include('rotated already')
    const gone = await create()
    valueOf(await directory.revokeKey({ workspaceId: workspace.id, keyId: gone.key.id }))
    expect((await rotate(gone.key.id)).ok).to.equal(false)
    expect(directory.keys(workspace.id)).to.have.length(3)
    expect(directory.keys(other.id)).to.deep.equal([])
  })

  it('write both facts in one step, by whoever did it', async () => {
    const old = await create()
    const before = await one.stream.head()
    const { key } = valueOf(await rotate(old.key.id))
    const events = await one.stream.read(before, 10)
    expect(events.map(({ type }) => type)).to.deep.equal(['directory.key.created', 'directory.key.rotated'])
    const rotated = JSON.parse(Buffer.from(events[1]?.payload ?? []).toString()) as object
    expect(rotated).to.deep.include({ keyId: old.key.id, replacedBy: key.id, by: 'u1' })
  })
})
