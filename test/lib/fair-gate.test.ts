import { expect } from 'chai'
import { createFairGate, type FairGateOptions, type Stay } from '#src/lib/fair-gate.ts'

describe('a fair gate', () => {
  let said: string[] = []

  function gateOf(options: Partial<FairGateOptions>) {
    said = []
    const gate = createFairGate({ perOwnerMax: 100, sizeMax: 100, waitingPerOwnerMax: 100, waitMs: 60_000, ...options })
    /** Says when it is let in, or why it was not. */
    const enter = async (name: string, size: number, signal?: AbortSignal): Promise<Stay> => {
      const stay = await gate.enter(name.slice(0, 1), size, signal)
      said.push(typeof stay === 'string' ? `${name}: ${stay}` : name)
      return typeof stay === 'string' ? { takes: () => {}, leave: () => {} } : stay
    }
    return { enter }
  }
  /** What was said in the meantime, when all that is due has been. */
  async function heard(): Promise<readonly string[]> {
    await new Promise(setImmediate)
    return said.splice(0)
  }

  it('lets in what fits, of one owner and of all', async () => {
    const { enter } = gateOf({ perOwnerMax: 2, waitingPerOwnerMax: 0 })
    await Promise.all([enter('a1', 10), enter('a2', 10), enter('a3', 10), enter('b1', 50), enter('c1', 31)])
    expect(await heard()).to.deep.equal(['a1', 'a2', 'a3: owner', 'b1', 'c1: all'])
    await enter('c2', 30)
    expect(await heard()).to.deep.equal(['c2'])
  })

  it('lets one owner have half of all, and what takes more in alone', async () => {
    const { enter } = gateOf({ waitingPerOwnerMax: 0 })
    const large = await enter('a1', 60)
    await Promise.all([enter('a2', 1), enter('b1', 40), enter('b2', 10), enter('b3', 1)])
    expect(await heard()).to.deep.equal(['a1', 'a2: owner', 'b1', 'b2: all', 'b3: all'])
    large.leave()
    await Promise.all([enter('b4', 10), enter('b5', 1)])
    expect(await heard()).to.deep.equal(['b4', 'b5: owner'])
  })

  it('lets in who takes least, then who has waited longest, when there is room', async () => {
    const { enter } = gateOf({ sizeMax: 40 })
    const [a1, b1] = await Promise.all([enter('a1', 20), enter('b1', 15), enter('c1', 5)])
    void [enter('b2', 5), enter('d1', 10), enter('b3', 5), enter('e1', 10), enter('c2', 5)]
    expect(await heard()).to.deep.equal(['a1', 'b1', 'c1'])
    a1.leave()
    expect(await heard()).to.deep.equal(['d1', 'e1'])
    b1.takes(10)
    expect(await heard()).to.deep.equal(['c2'])
    b1.leave()
    expect(await heard()).to.deep.equal(['b2', 'b3'])
  })

  it('goes by what is taken at the time, also where that has become more than there is', async () => {
    const { enter } = gateOf({ sizeMax: 40 })
    const a1 = await enter('a1', 10)
    a1.takes(50)
    void enter('b1', 10)
    expect(await heard()).to.deep.equal(['a1'])
    a1.takes(30)
    expect(await heard()).to.deep.equal(['b1'])
    a1.leave()
    a1.takes(1_000)
    a1.leave()
    await Promise.all([enter('c1', 20), enter('b2', 10)])
    expect(await heard()).to.deep.equal(['c1', 'b2'])
  })

  it('refuses what has waited for too long, and what would be one too many that wait', async () => {
    const { enter } = gateOf({ perOwnerMax: 1, waitMs: 1, waitingPerOwnerMax: 1 })
    const a1 = await enter('a1', 10)
    await Promise.all([enter('a2', 10), enter('a3', 10), enter('b1', 10)])
    expect(said.splice(0)).to.deep.equal(['a1', 'a3: owner', 'b1', 'a2: owner'])
    a1.leave()
    await enter('a4', 10)
    expect(await heard()).to.deep.equal(['a4'])
  })

  it('forgets who does not want to wait any more', async () => {
    const { enter } = gateOf({ perOwnerMax: 1 })
    const gone = new AbortController()
    const a1 = await enter('a1', 10, gone.signal)
    const failed = enter('a2', 10, gone.signal).catch((error: unknown) => error)
    void enter('a3', 10)
    gone.abort('gone')
    expect(await failed).to.equal('gone')
    expect(await enter('a4', 10, gone.signal).catch((error: unknown) => error)).to.equal('gone')
    expect(await heard()).to.deep.equal(['a1'])
    a1.leave()
    expect(await heard()).to.deep.equal(['a3'])
  })
})
