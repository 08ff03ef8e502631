import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { resolveWalk, type QueryContext, type Walk } from '#src/query/context.ts'
import { createCursors } from '#src/query/cursor.ts'

const cursors = createCursors('a secret of the installation')
const now = Date.UTC(2026, 10, 21, 12)
const where = { endpoint: 'logs', workspaceId: workspaceIdOf('acme'), search: 'from=15m', byId: false }

describe('walks', () => {
  let clock = now
  beforeEach(() => (clock = now))
  // Reader and directory are not asked.
  const context = { cursors, limits, clock: () => clock } as unknown as QueryContext
  const walk = (cursor?: string): Walk => {
    const resolved = resolveWalk(context, where, { from: '15m', cursor })
    if (!resolved.ok) throw new Error(resolved.error.detail)
    return resolved.value
  }
  const cursorAt = (key: number, { binding, range }: Walk): string => cursors.write(binding, { key, ...range })

  it('go on from each cursor, page after page', () => {
    const first = walk()
    const second = walk(cursorAt(1, first))
    const third = walk(cursorAt(2, second))
    expect(first.place).to.equal(undefined)
    expect(second.place?.key).to.equal(1)
    expect(third.place?.key).to.equal(2)
  })

  it('keep the range that their first page resolved', () => {
    const first = walk()
    clock += 60_000
    const third = walk(cursorAt(2, walk(cursorAt(1, first))))
    expect(third.range).to.deep.equal({ fromNs: BigInt(now - 15 * 60_000) * 1_000_000n })
    expect(third.range).to.deep.equal(first.range)
  })
})
