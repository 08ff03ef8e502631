import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { PermanentError } from '#src/lib/failure.ts'
import { makeFolder, makeOwnFolder } from '#src/lib/make-folder.ts'

describe('making a folder', () => {
  let parent: string
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'throughline-folder-'))
  })
  afterEach(() => rmSync(parent, { recursive: true }))

  const make = (folder: string): void => makeFolder(folder, { operation: 'make', hint: 'do this' })

  it('makes those above it too, for their owner alone, and leaves one that is there', () => {
    make(join(parent, 'a', 'b'))
    make(join(parent, 'a', 'b'))
    for (const name of ['a', 'a/b']) expect(statSync(join(parent, name)).mode & 0o777).to.equal(0o700)
  })

  it('is refused at once where it cannot be made', () => {
    writeFileSync(join(parent, 'file'), '')
    symlinkSync(join(parent, 'gone'), join(parent, 'link'))
    const places = ['file', 'file/a', 'link/a'].map((name) => join(parent, name))
    // Where mkdir says ENOENT though the folder above is there.
    if (process.platform === 'linux') places.push('/proc/throughline', '/proc/throughline/a')
    for (const place of places.slice(1)) {
      expect(() => make(place), place).to.throw(PermanentError, /^make .*(ENOTDIR|ENOENT|EEXIST).*\(do this\)$/)
    }
  })

  it('takes one that is there for its own only if nobody else may read it or put another in its place', () => {
    const folder = join(parent, 'own')
    makeOwnFolder(folder)
    makeOwnFolder(folder)
    symlinkSync(folder, join(parent, 'link'))
    const notAlone = /^make the folder .*it is not this user's alone: remove it, or choose another by TMPDIR/
    expect(() => makeOwnFolder(join(parent, 'link'))).to.throw(PermanentError, notAlone)
    chmodSync(folder, 0o750)
    expect(() => makeOwnFolder(folder)).to.throw(PermanentError, notAlone)
    chmodSync(folder, 0o700)
    makeOwnFolder(folder)
    if (process.getuid?.() !== 0) return
    chownSync(folder, 65_534, 65_534)
    expect(() => makeOwnFolder(folder)).to.throw(PermanentError, notAlone)
  })
})
