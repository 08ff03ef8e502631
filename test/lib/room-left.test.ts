import { tmpdir } from 'node:os'
import { expect } from 'chai'
import { bytesLeftIn, diskObstacleIn, filesLeftIn } from '#src/lib/room-left.ts'

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

  it('is as many files as it says, and not known where it says that it has none at all', () => {
    expect(filesLeftIn('a folder', () => ({ files: 64, ffree: 3 }))).to.equal(3)
    expect(filesLeftIn('a folder', () => ({ files: 0, ffree: 0 }))).to.equal(undefined)
    expect(filesLeftIn('/nowhere/at/all')).to.equal(undefined)
  })
})

describe('what keeps anybody from making a file on a disk', () => {
  const access = (code?: string) => () => {
    if (code !== undefined) throw Object.assign(new Error(code), { code })
  }
  const ask = (ffree: number) => (() => ({ files: 64, ffree })) as never

  it('is that it is mounted read-only, or has no inode left', () => {
    const readOnly = diskObstacleIn('a folder', { access: access('EROFS'), ask: ask(9) })
    expect(readOnly).to.equal('its disk is mounted read-only: see what the system says of it')
    const used = diskObstacleIn('a folder', { access: access(), ask: ask(0) })
    expect(used).to.equal('its disk has no inode left for another file (df -i): remove files there')
  })

  it('is not who may not, nor a folder that is not there', () => {
    expect(diskObstacleIn('a folder', { access: access('EACCES'), ask: ask(1) })).to.equal(undefined)
    expect(diskObstacleIn('/nowhere/at/all')).to.equal(undefined)
    expect(diskObstacleIn(tmpdir())).to.equal(undefined)
  })
})
