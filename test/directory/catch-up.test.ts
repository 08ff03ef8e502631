import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { createCatchUp } from '#src/directory/catch-up.ts'
import type { Position } from '#src/events/envelope.ts'

describe('a directory’s view that catches up', () => {
  /** A log whose head is told when the test says so, and a view that follows to any head but one. */
  function create(unreachable?: Position) {
    const asked: ((head: Position) => void)[] = []
    const catchUp = createCatchUp({
      stream: { head: () => new Promise((resolve) => asked.push(resolve)) },
      followed: async (position) => position !== unreachable,
    })
    const untilAsked = async (looks: number): Promise<void> => {
      while (asked.length < looks) await setTimeout(1)
    }
    return { asked, catchUp, untilAsked }
  }

  it('is there when it has followed to where the log ended', async () => {
    const { asked, catchUp, untilAsked } = create()
    const found = catchUp()
    await untilAsked(1)
    asked[0]?.(4_096)
    expect(await found).to.equal(true)
  })

  it('is not when it does not come to there, or the log says nothing', async () => {
    const { asked, catchUp, untilAsked } = create(8_192)
    const found = catchUp()
    await untilAsked(1)
    asked[0]?.(8_192)
    expect(await found).to.equal(false)
    expect(await catchUp()).to.equal(false)
    const broken = createCatchUp({
      stream: { head: () => Promise.reject(new Error('no')) },
      followed: async () => true,
    })
    expect(await broken()).to.equal(false)
  })

  it('looks again only when it has seen what it looked for', async () => {
    const { asked, catchUp, untilAsked } = create()
    const first = catchUp()
    await untilAsked(1)
    const second = catchUp()
    await setTimeout(1)
    expect(asked).to.have.length(1)
    asked[0]?.(4_096)
    await first
    await untilAsked(2)
    asked[1]?.(8_192)
    expect(await second).to.equal(true)
  })

  it('looks once for all who ask meanwhile, and never for them at what was before they asked', async () => {
    const { asked, catchUp, untilAsked } = create()
    const first = catchUp()
    await untilAsked(1)
    let isTold = false
    const others = Promise.all(Array.from({ length: 1_000 }, catchUp)).then((all) => {
      isTold = true
      return all
    })
    asked[0]?.(4_096)
    expect(await first).to.equal(true)
    await untilAsked(2)
    expect(isTold).to.equal(false)
    asked[1]?.(4_096)
    expect(new Set(await others)).to.deep.equal(new Set([true]))
    expect(asked).to.have.length(2)
  })
})
