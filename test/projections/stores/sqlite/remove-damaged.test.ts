import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import type { IndexWriter } from '#projections/index-store.ts'
import { livePath, metaPath } from '#projections/stores/sqlite/paths.ts'
import { removeDamaged } from '#projections/stores/sqlite/remove-damaged.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { acme, epoch, fixture, index, lineEntry, write } from '#test/support/index-fixture.ts'
import { liveOf, promote } from '#test/support/promote.ts'

const limits = { indexFilesOpenMax: 8 }

/** Overwrites the first page of a table, as a disk does that returns another sector. */
function damageTable(path: string, table: string): void {
  const database = new DatabaseSync(path)
  const page = Number(database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table)?.['rootpage'])
  database.close()
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.fill(0, (page - 1) * 4_096, page * 4_096))
}

describe('a folder of SQLite indexes that is looked at before a start', () => {
  let folder: string
  let told: string[]
  const start = async (): Promise<IndexWriter> => {
    const writer = createSqliteIndexWriter({ folder, limits })
    await writer.open(index, fixture, epoch)
    return writer
  }
  const look = (): void => removeDamaged(folder, ['fixture'], (line) => void told.push(line))

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-remove-damaged-'))
    told = []
    const writer = await start()
    await promote(writer, 'fixture', index)
    await writer.changeRoster('fixture', { ...(await writer.roster('fixture')), followed: [] })
    await write(writer, [lineEntry({}, 1)], 1, acme)
    await writer.close()
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('loses nothing of what is whole', async () => {
    look()
    expect(told).to.deep.equal([])
    const writer = await start()
    expect([await liveOf(writer, 'fixture'), await writer.checkpoint(index)]).to.deep.equal([
      index,
      { epoch, position: 1 },
    ])
    await writer.close()
  })

  it('takes no copy that somebody made of a build for one, and leaves it alone', async () => {
    const copy = `${index}.bak`
    cpSync(join(folder, index), join(folder, copy), { recursive: true })
    damageTable(metaPath(folder, copy), 'build')
    look()
    expect([told, existsSync(metaPath(folder, copy))]).to.deep.equal([[], true])
    const writer = await start()
    expect((await writer.builds('fixture')).map((build) => build.index)).to.deep.equal([index])
    await writer.close()
  })

  for (const table of ['live', 'followed'])
    it(`loses the list of builds where its table ${table} is damaged, and whoever folds next begins another`, async () => {
      damageTable(livePath(folder), table)
      look()
      expect(told).to.have.length(1)
      expect(told[0]).to.match(/^.*live\.db is damaged: it is made again from the indexes that are there \(/)
      const writer = await start()
      expect(await writer.roster('fixture')).to.deep.equal({ revision: 0, live: undefined, followed: [] })
      expect(await writer.checkpoint(index)).to.deep.equal({ epoch, position: 1 })
      await writer.close()
    })

  for (const table of ['build', 'progress', 'days', 'lostDays', 'shares', 'named', 'origin'])
    it(`loses a build where the table ${table} of its record is damaged, so that it is folded again`, async () => {
      damageTable(metaPath(folder, index), table)
      look()
      expect(told).to.have.length(1)
      expect(told[0]).to.match(
        /meta\.db is damaged: the index fixture-v1-001 is removed, and folded again from the log \(/,
      )
      const writer = await start()
      expect(await writer.checkpoint(index)).to.deep.equal({ epoch, position: 0 })
      await writer.close()
    })

  it('loses a build whose record is not what was written, though its pages are whole', async () => {
    const meta = new DatabaseSync(metaPath(folder, index))
    meta.exec(`UPDATE build SET shapes = '{"lines'`)
    meta.close()
    look()
    expect(told).to.have.length(1)
    expect(told[0]).to.match(/the index fixture-v1-001 is removed, and folded again from the log \(SyntaxError/)
  })

  it('loses the list of builds where it is not what was written, though its pages are whole', async () => {
    const live = new DatabaseSync(livePath(folder))
    live.exec(`UPDATE followed SET builds = '[{'`)
    live.close()
    look()
    expect(told).to.have.length(1)
    expect(told[0]).to.match(/live\.db is damaged: it is made again from the indexes that are there \(SyntaxError/)
  })
})
