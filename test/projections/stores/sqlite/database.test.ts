import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '#projections/stores/sqlite/database.ts'

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
    const code = `import { openDatabase } from '#projections/stores/sqlite/database.ts'
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
