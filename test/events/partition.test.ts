import { expect } from 'chai'
import { partitionNumber, partitionOf } from '#src/events/partition.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

describe('partition', () => {
  // Golden: what is stored goes by these numbers.
  const known: readonly (readonly [string, number, number, number])[] = [
    ['w0123456789abcdef', 3, 3, 35],
    ['wffffffffffffffff', 1, 0, 41],
    ['acme', 2, 6, 62],
    ['default', 3, 1, 31],
  ]
  for (const [id, ofFour, ofSeven, of64] of known) {
    it(`puts ${id} where it has always been`, () => {
      const workspaceId = workspaceIdOf(id)
      expect([4, 7, 64].map((count) => partitionNumber(workspaceId, count))).to.deep.equal([ofFour, ofSeven, of64])
    })
  }

  it('has one place for everything where there is one partition', () => {
    const of = partitionOf(['only'])
    for (const [id] of known) expect(of(workspaceIdOf(id))).to.equal('only')
  })

  it('spreads workspaces over all partitions', () => {
    const of = partitionOf([0, 1, 2, 3])
    const counts = [0, 0, 0, 0]
    for (let index = 0; index < 4_000; index++) {
      const partition = of(workspaceIdOf(`w${index.toString(16).padStart(16, '0')}`))
      counts[partition] = (counts[partition] ?? 0) + 1
    }
    for (const count of counts) expect(count).to.be.within(900, 1_100)
  })
})
