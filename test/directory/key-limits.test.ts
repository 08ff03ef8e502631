import { expect } from 'chai'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { createWorkspace, day, openDirectory, valueOf } from './harness.ts'

describe('limits of keys', () => {
  let directory: Directory
  let workspace: Workspace
  beforeEach(async () => {
    const limits = { keysPerWorkspaceMax: 2, originsPerKeyMax: 2, keyOverlapMsMax: 3 * day }
    ;({ directory } = await openDirectory({ limits }))
    workspace = await createWorkspace(directory, 'Acme')
  })
  afterEach(() => directory.close())

  const create = (origins: readonly string[] = []) =>
    directory.createKey({ workspaceId: workspace.id, kind: 'publishable', origins })
  const detailOf = (answer: Awaited<ReturnType<typeof create>>): string => (answer.ok ? 'ok' : answer.error.detail)

  it('refuse one more than a workspace may have, also in the place of another, until one is revoked', async () => {
    const { key } = valueOf(await create())
    valueOf(await create())
    expect(detailOf(await create())).to.equal('A workspace may have at most 2 keys; revoke some.')
    const which = { workspaceId: workspace.id, keyId: key.id }
    expect((await directory.rotateKey({ ...which, overlapMs: 0 })).ok).to.equal(false)
    valueOf(await directory.revokeKey(which))
    valueOf(await create())
    const other = await createWorkspace(directory, 'Other')
    valueOf(await directory.createKey({ workspaceId: other.id, kind: 'logs' }))
    // A form that has made the last key there is room for says so when it is sent again.
    const last = { workspaceId: other.id, kind: 'logs', once: 'a form' } as const
    valueOf(await directory.createKey(last))
    const again = await directory.createKey(last)
    expect(!again.ok && again.error.code).to.equal('exists')
  })

  it('refuse more origins than a key may have, for a new key and for one that is there', async () => {
    const [a, b, c] = ['https://a.example', 'https://b.example', 'https://c.example'] as const
    const { key } = valueOf(await create([a, b]))
    expect(detailOf(await create([a, b, c]))).to.equal('A key may have at most 2 origins.')
    const changed = await directory.changeOrigins({ workspaceId: workspace.id, keyId: key.id, origins: [a, b, c] })
    expect(changed.ok).to.equal(false)
    expect(directory.key(key.id)?.origins).to.deep.equal([a, b])
  })

  it('refuse a longer overlap than a rotated key may have', async () => {
    const { key } = valueOf(await create())
    const rotate = (overlapMs: number) => directory.rotateKey({ workspaceId: workspace.id, keyId: key.id, overlapMs })
    const refused = await rotate(3 * day + 1)
    expect(refused.ok ? 'ok' : refused.error.detail).to.equal('An old key may work on for at most 3 days.')
    expect((await rotate(3 * day)).ok).to.equal(true)
  })

  it('refuse a name that does not fit on a page; none is a name too', async () => {
    const named = (name: string) => directory.createKey({ workspaceId: workspace.id, kind: 'logs', name })
    for (const name of ['a\nb', 'x'.repeat(81)]) {
      const refused = await named(name)
      expect(!refused.ok && refused.error.field, JSON.stringify(name)).to.equal('name')
    }
    expect(valueOf(await named('  ')).key.name).to.equal('')
  })
})
