import { expect } from 'chai'
import { createLane, createTurns } from '#src/lib/lane.ts'

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a lane', () => {
  it('lets in what has room together, in order, and what is larger than it alone', async () => {
    const lane = createLane(10)
    const inside: number[] = []
    const most: number[] = []
    const order: number[] = []
    const run = (room: number, index: number): Promise<void> =>
      lane.run(room, async () => {
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
    const lane = createLane(1)
    const failed = await lane.run(1, () => Promise.reject(new Error('failed'))).catch((error: Error) => error.message)
    expect([failed, await lane.run(1, async () => 'next')]).to.deep.equal(['failed', 'next'])
  })
})

describe('turns', () => {
  it('run one after the other by name, whatever becomes of them, and side by side otherwise', async () => {
    const turns = createTurns()
    const seen: string[] = []
    const run = (name: string, index: number): Promise<void> =>
      turns.run(name, async () => {
        seen.push(`${name}${index} begins`)
        await turnOfTheLoop()
        seen.push(`${name}${index} ends`)
        if (index === 0) throw new Error('failed')
      })
    await Promise.allSettled([run('a', 0), run('a', 1), run('b', 0)])
    expect(seen.filter((line) => line.startsWith('a'))).to.deep.equal(['a0 begins', 'a0 ends', 'a1 begins', 'a1 ends'])
    expect(seen.indexOf('b0 begins')).to.be.below(seen.indexOf('a0 ends'))
  })
})
