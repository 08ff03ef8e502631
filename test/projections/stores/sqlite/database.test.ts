import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase, openDatabaseToRead } from '#projections/stores/sqlite/database.ts'

describe('a file of an index that its user may only read, or not even that', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-database-'))
    chmodSync(folder, 0o777)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('is named, and so is one beside it, which SQLite has made with its mode', () => {
    const path = join(folder, 'live.db')
    const write = 'CREATE TABLE IF NOT EXISTS kept (id); DELETE FROM kept'
    const made = openDatabase(path)
    made.exec(write)
    made.close()
    const code = `import { openDatabase, openDatabaseToRead } from '#projections/stores/sqlite/database.ts'
      openDatabase(process.argv[1]).exec('${write}')`
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    const said = (): string =>
      spawnSync(process.execPath, ['--input-type=module', '-e', code, path], { encoding: 'utf8', ...user }).stderr
    chmodSync(path, 0o000)
    expect(said()).to.match(
      /live\.db: .*it and its folder must be there and writable for this user: check owner and mode/,
    )
    chmodSync(path, 0o444)
    expect(said()).to.match(/live\.db: .*this user may not write it/)
    chmodSync(path, 0o666)
    expect(said()).to.match(/live\.db-shm: .*this user may not write it/)
    chmodSync(`${path}-shm`, 0o666)
    expect(said()).to.equal('')
  })
})

describe('the WAL of a file of an index', () => {
  it('gives its room back to the disk where it has grown large once, as while a reader held it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-wal-'))
    try {
      const path = join(folder, 'day.db')
      const database = openDatabase(path)
      const walBytes = (): number => statSync(`${path}-wal`).size
      database.exec('CREATE TABLE kept (body)')
      const reader = openDatabaseToRead(path)
      reader.exec('BEGIN; SELECT count(*) FROM kept')
      for (let n = 0; n < 9; n++) database.run('INSERT INTO kept VALUES (zeroblob(8388608))')
      expect(walBytes()).to.be.above(9 * 8_388_608)
      reader.exec('COMMIT')
      // The first moves all of it into the file, the next begins the WAL anew.
      for (let n = 0; n < 2; n++) database.run('INSERT INTO kept VALUES (0)')
      expect(walBytes()).to.equal(64 * 1_024 * 1_024)
      reader.close()
      database.close()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
