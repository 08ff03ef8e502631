import { expect } from 'chai'
import { createQueue } from '#projections/expected-fold.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

const [acme, other] = [workspaceIdOf('acme'), workspaceIdOf('other')]

describe('the queue of what is still to be compared', () => {
  it('lets a workspace be folded up to the next of its own, of very many', () => {
    const items = Array.from({ length: 200_000 }, (_, n) => ({
      workspaceId: n % 1_000 === 0 ? other : acme,
      position: n + 1,
    }))
    const queue = createQueue(items)
    const limit = queue.beside(() => 0)
    const inTurn = items.every((one) => {
      const isNext = limit(one.workspaceId) === one.position
      queue.take(one)
      return isNext
    })
    expect(inTurn).to.equal(true)
    expect([limit(acme), limit(other)]).to.deep.equal([0, 0])
  })

  it('lets it be folded as far as the index is anyhow, and to its end for what has no position', () => {
    const items = [{ workspaceId: acme, position: 3 }, { workspaceId: acme, position: 7 }, { workspaceId: acme }]
    const queue = createQueue(items)
    const limit = queue.beside(
      () => 5,
      () => 9,
    )
    const limits = items.map((one) => {
      const now = limit(acme)
      queue.take(one)
      return now
    })
    expect(limits).to.deep.equal([5, 7, 9])
    expect([limit(acme), limit(other)]).to.deep.equal([5, 5])
  })
})
