import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { withOwnProgress } from '#projections/retention/first-days.ts'
import { isCaughtUp, type IndexReader, type IndexWriter, type LostDay } from '#projections/index-store.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import { forgetDays, missedDays } from '#projections/stores/sqlite/known-days.ts'
import { openDatabase } from '#projections/stores/sqlite/database.ts'
import { metaPath } from '#projections/stores/sqlite/paths.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { dayBefore } from '#src/lib/day.ts'
import {
  acme,
  day,
  everything,
  index,
  lineEntry,
  other,
  scopeOf,
  write,
  openFixture,
} from '#test/support/index-fixture.ts'
import { limits as fixtureLimits } from '#test/support/sqlite-fixture.ts'

const limits = { ...fixtureLimits, indexFilesOpenMax: 2 }
const before = dayBefore(day, 1)

describe('the days of a SQLite index', () => {
  let folder: string
  let writer: IndexWriter
  let position = 0

  const start = async (): Promise<void> => {
    writer = createSqliteIndexWriter({ folder, limits, syncEveryMs: 0 })
    await openFixture(writer)
  }
  const again = async (): Promise<void> => {
    await writer.close()
    await start()
  }
  const put = async (workspaceId: typeof acme, on: string): Promise<void> => {
    await write(writer, [lineEntry({}, ++position, { day: on })], position, workspaceId)
    await writer.heartbeat(index, { position, head: position, at: position * 10_000, caughtUpAt: 0 })
  }
  const ask = async <T>(question: (reader: IndexReader) => Promise<T>): Promise<T> => {
    const reader = createSqliteIndexReader({ folder, limits })
    try {
      return await question(reader)
    } finally {
      await reader.close()
    }
  }
  const lost = () => ask(async (reader) => (await reader.progress('fixture'))?.lostDays ?? [])
  const fileOf = (workspaceId: string, on: string): string => join(folder, index, workspaceId, `${on}.db`)
  const remove = (workspaceId: string, on: string): void => {
    for (const side of ['', '-wal', '-shm']) rmSync(`${fileOf(workspaceId, on)}${side}`, { force: true })
  }
  const gone: LostDay = { workspaceId: acme, day: before }

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-days-'))
    position = 0
    await start()
    for (const on of [before, day]) for (const workspaceId of [acme, other]) await put(workspaceId, on)
  })
  afterEach(async () => {
    await writer.close()
    rmSync(folder, { recursive: true })
  })

  it('are missed where a file was removed while nobody had it, and for as long as the build is there', async () => {
    await again()
    expect([await lost(), missedDays(folder, index)]).to.deep.equal([[], []])
    await writer.close()
    remove(acme, before)
    expect(missedDays(folder, index), 'before it is opened').to.deep.equal([gone])
    await start()
    expect([await lost(), missedDays(folder, index)]).to.deep.equal([[gone], [gone]])
    expect(await createSqliteIndexAudit({ folder }).lost?.(index)).to.deep.equal([gone])
    await put(acme, before)
    await again()
    expect(existsSync(fileOf(acme, before))).to.equal(true)
    expect(await lost(), 'what comes later brings back nothing').to.deep.equal([gone])
  })

  it('are missed where a file was removed beside a writer, once it makes it anew, or at the next turn of retention', async () => {
    remove(acme, before)
    // Two files are open at most: it has been closed.
    await put(acme, before)
    expect(await lost()).to.deep.equal([gone])
    remove(other, before)
    await writer.dropDays(index, { of: () => '', all: '' })
    expect(await lost()).to.deep.equal([gone, { workspaceId: other, day: before }])
  })

  it('are missed where a file was emptied, which SQLite takes for a new one', async () => {
    await writer.close()
    remove(acme, before)
    writeFileSync(fileOf(acme, before), '')
    expect(missedDays(folder, index), 'before it is opened').to.deep.equal([gone])
    await start()
    expect([await lost(), missedDays(folder, index)]).to.deep.equal([[gone], [gone]])
    await put(acme, before)
    await again()
    expect(await lost(), 'what comes later brings back nothing').to.deep.equal([gone])
    await writer.dropDays(index, { of: () => day, all: day })
    expect([existsSync(fileOf(acme, before)), await lost()]).to.deep.equal([false, []])
  })

  it('are not missed that the build has let go of, nor any that would have gone by now', async () => {
    // Of this one it is not said yet that it is on the disk.
    await write(writer, [lineEntry({}, ++position, { day: dayBefore(day, 2) })], position, other)
    await writer.eraseWorkspace(index, other, position)
    await writer.close()
    remove(acme, before)
    await start()
    expect(await lost()).to.deep.equal([gone])
    await writer.dropDays(index, { of: () => day, all: day })
    await again()
    expect([await lost(), await ask((reader) => reader.count(scopeOf('lines'), { filter: everything }))]).to.deep.equal(
      [[], 1],
    )
    await writer.close()
    const closed = createSqliteIndexWriter({ folder, limits })
    expect(
      await closed.dropDays(index, { of: () => '9999-12-31', all: '9999-12-31' }),
      'of one that is not open',
    ).to.equal(1)
    await closed.close()
    await start()
    expect(await lost()).to.deep.equal([])
  })

  it('are missed of a workspace that was erased too, where what came later had made them', async () => {
    await writer.eraseWorkspace(index, acme, 1)
    await writer.close()
    remove(acme, day)
    await start()
    expect(await lost()).to.deep.equal([{ workspaceId: acme, day }])
    await writer.eraseWorkspace(index, acme, 1)
    expect(await lost(), 'once more').to.deep.equal([{ workspaceId: acme, day }])
    await writer.eraseWorkspace(index, acme, position + 1)
    expect(await lost()).to.deep.equal([])
  })

  it('take what is written to one after it was dropped, also where it was open then', async () => {
    await put(acme, before)
    await writer.dropDays(index, { of: () => day, all: day })
    await put(acme, before)
    await again()
    expect(existsSync(fileOf(acme, before))).to.equal(true)
    const everyone = { filter: everything, orderBy: 'position', direction: 'asc', limit: 10 } as const
    const hits = await ask((reader) => reader.search(scopeOf('lines'), everyone))
    expect([hits.length, await lost()]).to.deep.equal([2, []])
  })

  it('are those that are there when a program that knows of this first opens a build', async () => {
    await writer.close()
    const meta = new DatabaseSync(join(folder, index, 'meta.db'))
    meta.exec('DROP TABLE days; DROP TABLE lostDays')
    meta.close()
    remove(other, day)
    expect(missedDays(folder, index)).to.deep.equal([])
    expect(await lost()).to.deep.equal([])
    await start()
    expect(await lost()).to.deep.equal([])
    await writer.close()
    remove(acme, before)
    await start()
    expect(await lost()).to.deep.equal([gone])
  })

  it('are not missed that a program which does not know of this has let go of while it folded the build', async () => {
    await writer.close()
    remove(other, day)
    // As an erasure that it has folded.
    const meta = new DatabaseSync(join(folder, index, 'meta.db'))
    meta.exec('UPDATE build SET safe = safe + 1')
    meta.close()
    expect(missedDays(folder, index), 'before it is opened').to.deep.equal([])
    await start()
    expect([await lost(), missedDays(folder, index)]).to.deep.equal([[], []])
    await put(acme, day)
    await writer.close()
    remove(acme, before)
    expect(missedDays(folder, index)).to.deep.equal([gone])
    await start()
    expect(await lost()).to.deep.equal([gone])
  })

  it('are missed until they are over, also where a program which does not know of this has folded the build since', async () => {
    await writer.close()
    remove(acme, before)
    await start()
    await writer.close()
    const meta = new DatabaseSync(join(folder, index, 'meta.db'))
    meta.exec('UPDATE build SET safe = safe + 1')
    meta.close()
    await start()
    expect(await lost(), 'though it is not named any more').to.deep.equal([gone])
    await writer.dropDays(index, { of: () => day, all: day })
    expect(await lost()).to.deep.equal([])
  })

  it('keep answers from being complete of the workspace whose they are, as long as it would be shown them', async () => {
    await writer.close()
    remove(acme, before)
    await start()
    await writer.heartbeat(index, { position, head: position, at: 1_000_000, caughtUpAt: 1_000_000 })
    const isComplete = (workspaceId: typeof acme, firstDay: string): Promise<boolean> =>
      ask(async (reader) => {
        const progress = await withOwnProgress(reader, workspaceId, () => firstDay).progress('fixture')
        return progress !== undefined && isCaughtUp(progress, 1_000_000)
      })
    expect([
      await isComplete(acme, before),
      await isComplete(acme, day),
      await isComplete(other, before),
    ]).to.deep.equal([false, true, true])
  })

  it('of others are not read where those of one workspace are forgotten', async () => {
    remove(acme, before)
    await again()
    const meta = openDatabase(metaPath(folder, index))
    const read: unknown[] = []
    const heard = {
      ...meta,
      all: (sql: string, ...values: readonly string[]) => {
        const rows = meta.all(sql, ...values)
        read.push(...rows.map(({ workspace, day: on }) => [workspace, on]))
        return rows
      },
    }
    forgetDays(heard, ({ day: on }) => on === before, acme)
    meta.close()
    expect(read).to.deep.equal([
      [acme, before],
      [acme, day],
      [acme, before],
    ])
    expect([await lost(), missedDays(folder, index)]).to.deep.equal([[], []])
  })
})
