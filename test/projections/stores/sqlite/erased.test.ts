import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
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
  const nextProcess = async (): Promise<void> => {
    await writer.close()
    writer = createSqliteIndexWriter({ folder: given.folder, limits, syncEveryMs: 0 })
    await writer.open(index, fixture, epoch)
  }
  /** As a process leaves it that was killed between two files of a removal, while a reader had the day open. */
  async function removeHalf(): Promise<void> {
    const held = new DatabaseSync(given.dayFile())
    try {
      held.prepare('SELECT position FROM file').get()
      await write(writer, [lineEntry({ text: 'of before' }, 2)], 2)
      rmSync(given.dayFile())
      await nextProcess()
    } finally {
      held.close()
    }
    expect(existsSync(`${given.dayFile()}-wal`)).to.equal(true)
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
    await writer.eraseWorkspace(index, acme, 10)
    expect(existsSync(join(given.folder, index, acme))).to.equal(false)
    expect([await seen(acme), await seen(other)]).to.deep.equal([0, 1])
  })

  it('holds no file of a day of which an interrupted erasure has left a part', async () => {
    await write(writer, [lineEntry({}, 1)], 1)
    await removeHalf()
    await writer.eraseWorkspace(index, acme, 3)
    expect(existsSync(join(given.folder, index, acme))).to.equal(false)
    await write(writer, [lineEntry({ text: 'late' }, 4)], 4)
    expect(await seen(acme)).to.equal(1)
  })

  it('takes nothing over into a new file from what is left of an earlier one of its name', async () => {
    await write(writer, [lineEntry({}, 1)], 1)
    await removeHalf()
    await write(writer, [lineEntry({ text: 'late' }, 4)], 4)
    expect(await seen(acme)).to.equal(1)
  })

  const damages = {
    'the first page': () => 1,
    'the page of its position': (file: DatabaseSync) =>
      Number(file.prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'file'`).get()?.['rootpage']),
  }
  function overwritePage(page: number): void {
    const bytes = readFileSync(given.dayFile())
    writeFileSync(given.dayFile(), bytes.fill(0, (page - 1) * 4_096, page * 4_096))
  }
  async function damage(pageOf: (file: DatabaseSync) => number): Promise<void> {
    await nextProcess()
    const file = new DatabaseSync(given.dayFile())
    const page = pageOf(file)
    file.close()
    overwritePage(page)
  }
  for (const [of, pageOf] of Object.entries(damages)) {
    it(`holds none of its files where ${of} of one is damaged`, async () => {
      await write(writer, [lineEntry({}, 1), lineEntry({ text: 'of another day' }, 2, { day: '2026-11-20' })], 2)
      await write(writer, [lineEntry({}, 9)], 9, other)
      await damage(pageOf)
      await writer.eraseWorkspace(index, acme, 10)
      expect(existsSync(join(given.folder, index, acme))).to.equal(false)
      expect([await seen(acme), await seen(other)]).to.deep.equal([0, 1])
    })

    it(`keeps a file of after the erasure though ${of} is damaged, where that is carried out once more`, async () => {
      await write(writer, [lineEntry({}, 1)], 1)
      await writer.eraseWorkspace(index, acme, 3)
      await write(writer, [lineEntry({ text: 'late' }, 4)], 4)
      await damage(pageOf)
      await writer.eraseWorkspace(index, acme, 3)
      expect(existsSync(given.dayFile()), 'what it holds has been read').to.equal(true)
    })
  }

  it('keeps a damaged file of what was folded ahead after the erasure', async () => {
    await write(writer, [lineEntry({}, 1)], 1)
    await damage(() => 1)
    await writer.eraseWorkspace(index, acme, 3)
    const entries = [lineEntry({ text: 'late' }, 4)]
    await writer.write(index, [{ workspaceId: acme, entries }], { epoch, position: 4, isAhead: true })
    // So many others that it is closed.
    const others = Array.from({ length: limits.indexFilesOpenMax }, (_, n) =>
      lineEntry({}, 2, { day: `2026-10-1${n}` }),
    )
    await write(writer, others, 2, other)
    overwritePage(1)
    await writer.eraseWorkspace(index, acme, 3)
    expect(existsSync(given.dayFile())).to.equal(true)
  })
})
