import { expect } from 'chai'
import { limits as allLimits } from '#src/config.ts'
import { reserving } from './reserving.ts'

describe('the count that a refusal waits for', () => {
  const site = reserving()
  const { start, granted, spend } = site

  it('keeps no request from its refusal where it cannot be had, or does not come, and nobody waits for it more than once', async () => {
    let task = (): Promise<number | undefined> => Promise.reject(new Error('the index is away'))
    const failures: unknown[] = []
    const gate = start({ counted: () => task(), onFailure: (error) => void failures.push(error) })
    await spend(gate, await granted(gate, 100, { limit: 100 }), 'all')
    const refused = async (): Promise<number> => {
      const began = site.world.ticks()
      expect(await granted(gate, 1, { limit: 100 })).to.include({ granted: 0, used: 100 })
      return site.world.ticks() - began
    }
    expect(await refused(), 'where it fails').to.be.within(2_000, 2_600)
    expect(failures).to.have.length(allLimits.heldSpansPollsMax)
    expect(await refused(), 'where it has failed').to.equal(0)
    await site.world.until(site.world.sleep(10_000))
    expect(await refused(), 'where it fails still').to.be.at.most(allLimits.heldSpansPollMs)
    await site.world.until(site.world.sleep(120_000))
    expect(await refused(), 'where nobody asked for long').to.be.within(2_000, 2_600)
    const late = Promise.withResolvers<number>()
    let asked = 0
    task = () => (asked++, late.promise)
    site.world.jump(2_000)
    expect(await refused(), 'where no answer comes').to.be.at.most(allLimits.heldSpansPollMs)
    site.world.jump(2_000)
    expect([await refused(), asked], 'while none has come').to.deep.equal([0, 1])
    late.resolve(95)
    expect((await granted(gate, 1, { limit: 100 })).granted, 'once it has come').to.equal(1)
  })

  it('is waited for no longer than spans that others hold, where the index does not answer at all', async () => {
    const gate = start({ counted: () => new Promise(() => undefined) })
    await spend(gate, await granted(gate, 100, { limit: 100 }), 'all')
    const began = site.world.ticks()
    const three = Array.from({ length: 3 }, () => granted(gate, 1, { limit: 100 }))
    for (const grant of await Promise.all(three)) expect(grant).to.include({ granted: 0, used: 100 })
    expect(site.world.ticks() - began).to.be.within(2_000, 3_000)
  })
})
