import { expect } from 'chai'
import { createSemaphore } from '#src/lib/semaphore.ts'

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a semaphore', () => {
  it('lets in what has room together, in order, and what is larger than it alone', async () => {
    const semaphore = createSemaphore(10)
    const inside: number[] = []
    const most: number[] = []
    const order: number[] = []
    const run = (room: number, index: number): Promise<void> =>
      semaphore.run(room, async () => {
        order.push(index)
        inside.push(room)
        most.push(inside.reduce((sum, each) => sum + Math.min(each, 10), 0))
        await turnOfTheLoop()
        inside.splice(inside.indexOf(room), 1)
      })
    await Promise.all([4, 4, 4, 99, 1, 9, 2].map(run))
    expect(Math.max(...most)).to.equal(10)
    expect(most).to.include(8)
    expect(order).to.deep.equal([0, 1, 2, 3, 4, 5, 6])
  })

  it('gives the room back when an action fails', async () => {
    const semaphore = createSemaphore(1)
    const failed = await semaphore
      .run(1, () => Promise.reject(new Error('failed')))
      .catch((error: Error) => error.message)
    expect([failed, await semaphore.run(1, async () => 'next')]).to.deep.equal(['failed', 'next'])
  })
})
