import { expect } from 'chai'
import { isCaughtUp, lagMs, type IndexReader } from '#projections/index-store.ts'
import { withOwnVersions } from '#projections/own-versions.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { present } from '#src/lib/assert.ts'
import { counting } from '#test/support/line-projections.ts'

describe('a reader of builds that programs of several versions fold', () => {
  const nowMs = 1_000_000
  const progress = { after: 0, position: 4096, head: 4096, at: nowMs - 100, caughtUpAt: nowMs - 100 }
  const readerOf = (index: string): IndexReader => {
    const { reader } = createMemoryIndexStore()
    return withOwnVersions({ ...reader, progress: async () => ({ ...progress, index }) }, [counting])
  }

  it('takes one of another version for complete never, however far it is', async () => {
    const own = present(await readerOf('counting-v1-004').progress('counting'), 'it is there')
    expect([isCaughtUp(own, nowMs), lagMs(own, nowMs)]).to.deep.equal([true, 0])
    for (const index of ['counting-v0-001', 'counting-v2-001']) {
      const other = present(await readerOf(index).progress('counting'), 'it is there')
      expect([isCaughtUp(other, nowMs), lagMs(other, nowMs)], index).to.deep.equal([false, 100])
    }
  })
})
