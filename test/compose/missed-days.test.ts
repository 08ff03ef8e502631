import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { projections } from '#projections/registry.ts'
import { metaPath } from '#projections/stores/sqlite/paths.ts'
import { packedLayoutVersion } from '#projections/stores/sqlite/layout.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { foldersOf } from '#src/compose/folders.ts'
import { tellMissedDays } from '#src/compose/missed-days.ts'
import { limits } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import { promote } from '#test/support/promote.ts'

const projection = present(projections[0], 'there is a projection')
const index = buildName(projection, 1)

describe('the files of days that are missed at a start', () => {
  let dataFolder: string
  let indexFolder: string
  let told: string[]
  const tell = console.error

  const inRecord = (sql: string): void => {
    const meta = new DatabaseSync(metaPath(indexFolder, index))
    meta.exec(sql)
    meta.close()
  }

  beforeEach(async () => {
    dataFolder = mkdtempSync(join(tmpdir(), 'throughline-missed-'))
    indexFolder = foldersOf(dataFolder).indexFolder
    mkdirSync(indexFolder)
    const writer = createSqliteIndexWriter({ folder: indexFolder, limits })
    await writer.open(index, projection, 'epoch')
    await promote(writer, projection.name, index)
    await writer.close()
    inRecord(`INSERT INTO days VALUES ('acme', '2026-11-20')`)
    told = []
    console.error = (line: string) => void told.push(line)
  })
  afterEach(() => {
    console.error = tell
    rmSync(dataFolder, { recursive: true })
  })

  it('are told, whatever folders others have put among those of workspaces', () => {
    for (const name of ['lost+found', '@eaDir', '.snapshot']) mkdirSync(join(indexFolder, index, name))
    tellMissedDays(dataFolder)
    expect(told).to.deep.equal([
      `files of the index ${index} are gone: 1 (a day of a workspace each, of 1 workspace), such as ` +
        `${indexFolder}/${index}/acme/2026-11-20.db; "throughline rebuild ${projection.name}" folds them again from the log`,
    ])
  })

  it('are not told of an index that readers have left, as for the one that a rebuild made', async () => {
    const writer = createSqliteIndexWriter({ folder: indexFolder, limits })
    await writer.open(buildName(projection, 2), projection, 'epoch')
    await promote(writer, projection.name, buildName(projection, 2))
    await writer.close()
    tellMissedDays(dataFolder)
    expect(told).to.deep.equal([])
  })

  it('keep no server from starting where an index is of a newer program', () => {
    inRecord(`PRAGMA user_version = ${packedLayoutVersion + 1n}`)
    tellMissedDays(dataFolder)
    expect(told).to.deep.equal([])
  })
})
