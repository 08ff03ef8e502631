import { expect } from 'chai'
import { TransientError } from '#src/lib/failure.ts'
import type { IndexReader, Progress } from '#projections/index-store.ts'
import { withLogHead } from '#projections/reading/log-head.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'

const told = { index: 'logs-v1-001', after: 0, position: 7, head: 7, at: 1_000, caughtUpAt: 1_000 }

const endingAt = (head: number) => ({ head: async () => head })

describe('a reader that knows where the log ends', () => {
  const over = (progress: Progress | undefined): IndexReader => ({
    ...createMemoryIndexStore().reader,
    answersInOrder: true,
    progress: async () => progress,
  })

  it('does not take an index for complete because its projector has not seen yet what was acknowledged', async () => {
    expect(await withLogHead(over(told), endingAt(9)).progress('logs')).to.deep.equal({ ...told, head: 9 })
    expect(await withLogHead(over(told), endingAt(7)).progress('logs')).to.deep.equal(told)
  })

  it('leaves as it is what an index says that has followed the log further since, that is behind, or that is not there', async () => {
    const behind = { ...told, head: 8 }
    for (const progress of [told, behind, undefined]) {
      expect(await withLogHead(over(progress), endingAt(6)).progress('logs')).to.deep.equal(progress)
    }
  })

  it('asks the log where some workspaces may have all of it, though others have not', async () => {
    const ahead = { position: 8, caughtUpAt: 1_000, behind: new Map() }
    const some = { ...told, head: 8, ahead }
    expect(await withLogHead(over(some), endingAt(9)).progress('logs')).to.deep.equal({ ...some, head: 9 })
  })

  it('goes by what the projector saw where the log does not answer', async () => {
    const away = async (): Promise<number> => {
      throw new TransientError({ operation: 'ask', subject: 'the log' })
    }
    expect(await withLogHead(over(told), { head: away }).progress('logs')).to.deep.equal(told)
  })

  it('is asked in the same order as the one below it', () => {
    expect(withLogHead(over(told), endingAt(7))).to.have.property('answersInOrder', true)
  })
})
