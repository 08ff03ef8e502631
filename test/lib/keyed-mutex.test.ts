import { expect } from 'chai'
import { createKeyedMutex } from '#src/lib/keyed-mutex.ts'

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a keyed mutex', () => {
  it('runs one after the other by key, whatever becomes of them, and side by side otherwise', async () => {
    const mutex = createKeyedMutex()
    const seen: string[] = []
    const run = (name: string, index: number): Promise<void> =>
      mutex.run(name, async () => {
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
