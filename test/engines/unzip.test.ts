import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { unzip } from '../../infra/engines/unzip.ts'

/** Made by Python's zipfile: a folder, a stored program, and a packed text one folder down. */
const good =
  'UEsDBBQAAAAAAAAAIVwAAAAAAAAAAAAAAAACAAAAYS9QSwMEFAAAAAAAAAAhXBCpyakTAAAAEwAAAAUAAABhL3J1biMhL2Jpbi9zaAplY2hvIHJhbgpQSwMEFAAAAAgAAAAh' +
  'XGE3zbMPAAAA6AMAAAsAAABhL2RlZXAvdGV4dMvJzEvlyhklRolRYjgTAFBLAQIUAxQAAAAAAAAAIVwAAAAAAAAAAAAAAAACAAAAAAAAAAAAAADtQQAAAABhL1BLAQIUAxQA' +
  'AAAAAAAAIVwQqcmpEwAAABMAAAAFAAAAAAAAAAAAAADtgSAAAABhL3J1blBLAQIUAxQAAAAIAAAAIVxhN82zDwAAAOgDAAALAAAAAAAAAAAAAACkgVYAAABhL2RlZXAvdGV4' +
  'dFBLBQYAAAAAAwADAJwAAACOAAAAAAA='
/** Its one entry is called `../evil`. */
const evil =
  'UEsDBBQAAAAAAAAAIVyDFtyMAQAAAAEAAAAHAAAALi4vZXZpbHhQSwECFAMUAAAAAAAAACFcgxbcjAEAAAABAAAABwAAAAAAAAAAAAAApIEAAAAALi4vZXZpbFBLBQYAAAAAAQAB' +
  'ADUAAAAmAAAAAAA='

describe('unzip', () => {
  let folder: string
  let archive: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-unzip-'))
    archive = join(folder, 'archive.zip')
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const unpack = (base64: string): void => {
    writeFileSync(archive, Buffer.from(base64, 'base64'))
    unzip(archive, join(folder, 'out'))
  }

  it('unpacks stored and packed files with their permissions', () => {
    unpack(good)
    expect(readFileSync(join(folder, 'out/a/deep/text'), 'utf8')).to.equal('line\n'.repeat(200))
    expect(statSync(join(folder, 'out/a/deep/text')).mode & 0o111).to.equal(0)
    expect(execFileSync(join(folder, 'out/a/run'), { encoding: 'utf8' })).to.equal('ran\n')
  })

  it('writes nothing outside its folder', () => {
    expect(() => unpack(evil)).to.throw('../evil')
    expect(existsSync(join(folder, 'evil'))).to.equal(false)
  })

  it('refuses what is no archive', () => {
    expect(() => unpack('AAAA')).to.throw('is no ZIP archive')
  })
})
