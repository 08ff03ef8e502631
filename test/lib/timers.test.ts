import { expect } from 'chai'
import { describe, it } from 'mocha'
import { inStep, systemTimers } from '#src/lib/timers.ts'

describe('what is done every so many ms', () => {
  it('is in step with all else of that interval, whenever it began, until it is stopped', () => {
    const running = new Map<number, () => void>()
    const { every } = inStep({
      ...systemTimers,
      every: (ms, task) => {
        running.set(ms, task)
        return () => running.delete(ms)
      },
    })
    const done: string[] = []
    const tick = (ms: number): string => {
      done.length = 0
      running.get(ms)?.()
      return done.join()
    }
    const task = (name: string) => () => void done.push(name)
    const [first, second] = [every(1_000, task('first')), every(1_000, task('second'))]
    const slow = every(5_000, task('slow'))
    expect([tick(1_000), tick(5_000)]).to.deep.equal(['first,second', 'slow'])
    first()
    first()
    expect(tick(1_000)).to.equal('second')
    second()
    slow()
    expect(running.size, 'timers that are left').to.equal(0)
    every(1_000, task('again'))
    expect(tick(1_000)).to.equal('again')
  })
})
