import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { freezeFile } from '#projections/stores/sqlite/auditing/freeze-file.ts'
import { openDatabase, openDatabaseToAudit, type Database } from '#projections/stores/sqlite/database.ts'
import { failureOf, type AskDisk } from '#projections/stores/sqlite/failure.ts'
import { layOutDay } from '#projections/stores/sqlite/layout.ts'
import { sqliteCodes } from '#src/lib/sqlite-errors.ts'

const sqliteError = (errcode: number) => Object.assign(new Error('as SQLite says it'), { errcode })

describe('what is said of a file of an index', () => {
  const saidOf = (errcode: number, ask: Partial<AskDisk>): string => {
    const disk = { obstacleIn: () => undefined, bytesLeftIn: () => undefined, ...ask }
    return String(failureOf('open', '/data/index/logs-v1-001/w1/2026-11-30.db', sqliteError(errcode), disk))
  }

  it('that cannot be opened is what its disk says, where that is why', () => {
    expect(saidOf(sqliteCodes.cannotOpen, {})).to.include('(it and its folder must be there and writable for this user')
    const obstacleIn = (folder: string): string => `the disk of ${folder} has no inode left`
    expect(saidOf(sqliteCodes.cannotOpen, { obstacleIn })).to.include(
      '(the disk of /data/index/logs-v1-001/w1 has no inode left)',
    )
  })

  it('that may not be written is how to mend that, and that its projection has stopped', () => {
    expect(saidOf(sqliteCodes.readOnly, {})).to.include(
      'how its disk is mounted; a server that runs folds it again once it is restarted (SIGHUP))',
    )
  })

  it('for which there is no room, where its own disk has some, is where its temporary files are', () => {
    const full = '(the disk is full: free some space'
    expect(saidOf(sqliteCodes.full, { bytesLeftIn: () => 4_096 })).to.include(`${full})`)
    expect(saidOf(sqliteCodes.full, {})).to.include(`${full})`)
    expect(saidOf(sqliteCodes.full, { bytesLeftIn: () => 1e9 })).to.include(
      `${full}; or, since that has room now, on the disk of temporary files (SQLITE_TMPDIR, else TMPDIR, else /var/tmp))`,
    )
  })
})

describe('a file that is read whole', () => {
  it('is let go of also where SQLite has ended its transaction, as when it fails: what failed is told then', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-frozen-'))
    const path = join(folder, '2026-11-30.db')
    try {
      const made = openDatabase(path)
      layOutDay(made, [], 'an epoch')
      made.close()
      let opened: Database | undefined
      const part = freezeFile({ path, day: '2026-11-30' }, [], (at) => (opened = openDatabaseToAudit(at)))
      opened?.exec('ROLLBACK')
      await part.release()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
