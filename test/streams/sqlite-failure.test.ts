import { expect } from 'chai'
import { sqliteCodes } from '#src/lib/sqlite-errors.ts'
import { failureOf } from '#streams/sqlite/failure.ts'

describe('what is said of a log that cannot be opened', () => {
  const cannotOpen = Object.assign(new Error('unable to open database file'), { errcode: sqliteCodes.cannotOpen })
  const noSpace = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  const saidOf = (error: Error, obstacle?: string): string =>
    failureOf(error, 'open log', '/data/log/0.db', (folder) => obstacle && `${folder}: ${obstacle}`).message

  it('is who may open it, and how many files', () => {
    expect(saidOf(cannotOpen)).to.equal(
      'open log /data/log/0.db: unable to open database file (the folder must be there, and be writable for this user; or too few files may be ' +
        'open (ulimit -n))',
    )
    expect(saidOf(noSpace)).to.include('(check the disk, and whether it is full)')
  })

  it('is what its disk says, where that is why', () => {
    for (const error of [cannotOpen, noSpace])
      expect(saidOf(error, 'its disk has no inode left')).to.include('(/data/log: its disk has no inode left)')
  })
})
