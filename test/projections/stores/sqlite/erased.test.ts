import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { IndexWriter } from '#projections/index-store.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import {
  acme,
  day,
  epoch,
  everything,
  fixture,
  index,
  lineEntry,
  other,
  scopeOf,
  write,
} from '#test/support/index-fixture.ts'
import { limits, openSqliteFixture, type SqliteFixture } from '#test/support/sqlite-fixture.ts'

describe('a SQLite index of which a workspace was erased', () => {
  let given: SqliteFixture
  let writer: IndexWriter
  const seen = async (workspaceId: typeof acme): Promise<number> => {
    const reader = createSqliteIndexReader({ folder: given.folder, limits })
    const count = await reader.count(scopeOf('lines', workspaceId), { filter: everything })
    await reader.close()
    return count
  }

  beforeEach(async () => {
    given = await openSqliteFixture()
    writer = given.writer
  })
  afterEach(async () => {
    await writer.close()
    given.remove()
  })

  it('brings back nothing of it where a batch from before is written again, also by the next process', async () => {
    const before = [lineEntry({}, 1), lineEntry({ text: 'of another day' }, 2, { day: '2026-11-20' })]
    await write(writer, before, 2)
    await writer.eraseWorkspace(index, acme, 3)
    const key = { workspaceId: acme, collection: 'lines', id: before[0]?.id ?? '', day }
    expect(await writer.load(index, [key])).to.deep.equal([[]])
    expect(existsSync(join(given.folder, index, acme)), 'nothing is made where nothing is').to.equal(false)
    await write(writer, before, 2)
    expect(await seen(acme), 'the same process').to.equal(0)
    // As who began at an earlier place of the log.
    await writer.eraseWorkspace(index, acme, 1)
    await write(writer, before, 2)
    expect(await seen(acme), 'the latest erasure counts').to.equal(0)
    await writer.close()
    writer = createSqliteIndexWriter({ folder: given.folder, limits })
    await writer.open(index, fixture, epoch)
    await write(writer, before, 2)
    await write(writer, before, 2, other)
    expect([await seen(acme), await seen(other)]).to.deep.equal([0, 2])
    await write(writer, [lineEntry({ text: 'late' }, 4)], 4)
    expect(await seen(acme), 'what came after its erasure').to.equal(1)
  })

  it('holds none of its files either of which one is that of another workspace', async () => {
    await write(writer, [lineEntry({}, 1), lineEntry({ text: 'of another day' }, 2, { day: '2026-11-20' })], 2)
    await write(writer, [lineEntry({}, 9)], 9, other)
    await writer.close()
    copyFileSync(join(given.folder, index, other, `${day}.db`), given.dayFile())
    writer = createSqliteIndexWriter({ folder: given.folder, limits })
    await writer.open(index, fixture, epoch)
    await writer.eraseWorkspace(index, acme, 3)
    expect(existsSync(join(given.folder, index, acme))).to.equal(false)
    expect([await seen(acme), await seen(other)]).to.deep.equal([0, 1])
  })
})
