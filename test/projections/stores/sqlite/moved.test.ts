import { expect } from 'chai'
import { existsSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteTextReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { TransientError } from '#src/lib/failure.ts'
import { acme, epoch, everything, fixture, lineEntry, other, scopeOf, write } from '#test/support/index-fixture.ts'
import { limits, openSqliteFixture, type SqliteFixture } from '#test/support/sqlite-fixture.ts'

describe('the folders of SQLite files', () => {
  it('are for their owner alone', async () => {
    const { folder, remove } = await openSqliteFixture()
    const own = join(folder, 'index')
    await createSqliteIndexWriter({ folder: own, limits }).close()
    expect(statSync(own).mode & 0o777).to.equal(0o700)
    remove()
  })
})

describe('a folder of SQLite files that is moved while it is written', () => {
  let given: SqliteFixture
  beforeEach(async () => {
    given = await openSqliteFixture()
  })
  afterEach(() => given.remove())

  it('is not made anew where it was, and is written to again when it is put back', async () => {
    const { folder, writer } = given
    const away = `${folder}.away`
    await write(writer, [lineEntry({}, 1)], 1)
    renameSync(folder, away)
    const failure = await write(writer, [lineEntry({}, 2)], 2, other).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(TransientError)
    expect(String(failure)).to.include('the folder above it must be there')
    expect(existsSync(folder)).to.equal(false)
    renameSync(away, folder)
    await write(writer, [lineEntry({}, 2)], 2, other)
    await writer.close()
    const reader = createSqliteTextReader({ folder, limits })
    for (const workspaceId of [acme, other]) {
      expect(await reader.count(scopeOf('lines', workspaceId), { filter: everything })).to.equal(1)
    }
    await reader.close()
  })

  it('is not made anew by a build that is begun meanwhile, nor by a writer', async () => {
    const { folder, writer } = given
    const away = `${folder}.away`
    renameSync(folder, away)
    const failure = await writer.open('fixture-v1-002', fixture, epoch).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(TransientError)
    expect(() => createSqliteIndexWriter({ folder: join(folder, 'index'), limits })).to.throw(TransientError)
    expect(existsSync(folder)).to.equal(false)
    renameSync(away, folder)
    await writer.open('fixture-v1-002', fixture, epoch)
  })
})
