import { expect } from 'chai'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openDatabaseToRead, type Database } from '#projections/stores/sqlite/database.ts'
import { openIfThere } from '#projections/stores/sqlite/if-there.ts'
import { isDamage } from '#projections/stores/sqlite/failure.ts'

describe('a SQLite file that is removed while it is opened', () => {
  let folder: string
  let path: string
  let writer: DatabaseSync

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-removed-'))
    mkdirSync(join(folder, 'build'))
    path = join(folder, 'build', 'meta.db')
    writer = new DatabaseSync(path)
    writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE things (name TEXT)')
    writer.prepare('INSERT INTO things VALUES (?)').run('one')
  })
  afterEach(() => {
    writer.close()
    rmSync(folder, { recursive: true })
  })

  const remove = (): void => {
    renameSync(join(folder, 'build'), join(folder, 'gone'))
    rmSync(join(folder, 'gone'), { recursive: true })
  }
  const read = (database: Database): unknown => database.get('SELECT name FROM things')?.['name']

  it('is as one that is not there, whenever it goes', () => {
    const opened = openIfThere(path, openDatabaseToRead, read)
    expect(opened?.found).to.equal('one')
    opened?.database.close()
    const removedOnceOpen = openIfThere(
      path,
      (file) => {
        const database = openDatabaseToRead(file)
        remove()
        return database
      },
      read,
    )
    expect(removedOnceOpen).to.equal(undefined)
    expect(openIfThere(path, openDatabaseToRead, read)).to.equal(undefined)
  })

  it('is damaged where it is still there, and no database', () => {
    const file = join(folder, 'other.db')
    writeFileSync(file, Buffer.alloc(8_192, 'no database'))
    const failures: unknown[] = []
    try {
      openIfThere(file, openDatabaseToRead, read)
    } catch (error) {
      failures.push(error)
    }
    expect(failures.map(isDamage)).to.deep.equal([true])
  })
})
