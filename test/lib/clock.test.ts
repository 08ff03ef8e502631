import { expect } from 'chai'
import { createClock } from '#src/lib/clock.ts'

describe('lib/clock', () => {
  it('never goes back, and goes on with the system’s clock once that has caught up', () => {
    let system = 1_000
    const clock = createClock(() => system)
    const read = [1_000, 400, 999, 1_001].map((wall) => {
      system = wall
      return clock()
    })
    expect(read).to.deep.equal([1_000, 1_000, 1_000, 1_001])
  })
})
