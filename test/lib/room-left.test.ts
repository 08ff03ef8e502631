import { tmpdir } from 'node:os'
import { expect } from 'chai'
import { bytesLeftIn } from '#src/lib/room-left.ts'

describe('what is left of a disk', () => {
  const disk = { bsize: 4_096, blocks: 100, bavail: 10 }

  it('is what is free to any user', () => {
    expect(bytesLeftIn('a folder', () => disk)).to.equal(40_960)
    expect(bytesLeftIn(tmpdir())).to.be.above(0)
  })

  it('is nothing, where the disk says so, and not known where it says that it has no blocks, or is not to be asked', () => {
    expect(bytesLeftIn('a folder', () => ({ ...disk, bavail: 0 }))).to.equal(0)
    expect(bytesLeftIn('a folder', () => ({ ...disk, blocks: 0, bavail: 0 }))).to.equal(undefined)
    expect(bytesLeftIn('/nowhere/at/all')).to.equal(undefined)
  })
})
