import { expect } from 'chai'
import { createClock } from '#src/lib/clock.ts'

describe('lib/clock', () => {
  it('does not go back with a correction, and goes on with the system’s clock once that has caught up', () => {
    let system = 1_000
    const clock = createClock(() => system)
    const read = [1_000, 400, 999, 1_001].map((wall) => {
      system = wall
      return clock()
    })
    expect(read).to.deep.equal([1_000, 1_000, 1_000, 1_001])
  })

  it('goes back with a clock that was far ahead, and stays with it', () => {
    const month = 31 * 86_400_000
    let system = month
    const clock = createClock(() => system)
    const read = [month, 2 * month, month + 2_000, month + 1_000, month + 3_000].map((wall) => {
      system = wall
      return clock()
    })
    expect(read).to.deep.equal([month, 2 * month, month + 2_000, month + 2_000, month + 3_000])
  })
})
