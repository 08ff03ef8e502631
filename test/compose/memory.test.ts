import { expect } from 'chai'
import { bodiesHeld } from '#src/compose/memory.ts'

describe('memory', () => {
  it('tells how many bytes of bodies a process holds: in 512 MiB a third of what it may, all of it from 1 GiB on', () => {
    const mib = 1024 ** 2
    const held = [128, 256, 512, 768, 1_024, 65_536].map((memory) => bodiesHeld(192 * mib, memory * mib) / mib)
    expect(held).to.deep.equal([32, 32, 64, 128, 192, 192])
  })
})
