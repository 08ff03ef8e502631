import { expect } from 'chai'
import { describe, it } from 'mocha'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { shareName, workerOf } from '#projections/folding/fold-share.ts'
import { projectionNames } from '#projections/names.ts'

const workspaces = Array.from({ length: 600 }, (_, n) => workspaceIdOf(`shop-${n}`))
const places = projectionNames.map((_, place) => place)

describe('fold-share: who folds what', () => {
  it('gives even one workspace several workers, the projections that take the most work one of their own', () => {
    for (const workspaceId of workspaces) {
      const two = places.map((place) => workerOf(workspaceId, place, 2))
      expect(two, 'traces beside all others').to.deep.equal([two[0], ...places.slice(1).map(() => 1 - (two[0] ?? 0))])
      const three = places.map((place) => workerOf(workspaceId, place, 3))
      expect(new Set(three.slice(0, 3)).size, 'traces, logs, and the rest').to.equal(3)
      expect(new Set(places.map((place) => workerOf(workspaceId, place, 4))).size).to.equal(4)
    }
  })

  it('gives each worker as much of many workspaces', () => {
    for (const workers of [1, 2, 3, 4, 7, 16]) {
      for (const place of places) {
        const taken = Array.from({ length: workers }, () => 0)
        for (const workspaceId of workspaces) {
          const worker = workerOf(workspaceId, place, workers)
          taken[worker] = (taken[worker] ?? Number.NaN) + 1
        }
        for (const count of taken)
          expect(count).to.be.within(workspaces.length / workers / 2, (workspaces.length / workers) * 2)
      }
    }
  })

  it('keeps progress under names that no program had which divided the work otherwise', () => {
    expect(shareName({ number: 0, of: 2 })).to.equal('0/2')
  })
})
