import { expect } from 'chai'
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { IndexWriter } from '#projections/index-store.ts'
import type { Collection } from '#projections/projection.ts'
import { missedDays } from '#projections/stores/sqlite/known-days.ts'
import { openRosters } from '#projections/stores/sqlite/rosters.ts'
import { storedBuildRecord } from '#projections/stores/sqlite/build-record.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import {
  acme,
  day,
  epoch,
  everything,
  fixture,
  idsOf,
  index,
  lineEntry,
  other,
  scopeOf,
  write,
} from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { limits, openSqliteFixture, type SqliteFixture } from '#test/support/sqlite-fixture.ts'
import { withSteppingClock } from '#test/support/stepping-clock.ts'
import { syncedBy } from '#test/support/synced-by.ts'
import { rejection } from '#test/support/read-all.ts'

const previousDay = '2026-11-20'

describe('what a SQLite index has on the disk', () => {
  let given: SqliteFixture
  let writer: IndexWriter
  let build: string
  let own: string

  beforeEach(async () => {
    given = await openSqliteFixture()
    writer = given.writer
    own = dirname(given.dayFile())
    build = dirname(own)
  })
  afterEach(async () => {
    await writer.close()
    given.remove()
  })

  it('is all that its checkpoint says, with the names of files, also what a killed process has left', async () => {
    const { folder } = given
    const file = given.dayFile()
    const checkpoints: unknown[] = []
    const synced = (position: number) =>
      syncedBy(
        () => writer.heartbeat(index, { position, head: position, at: position, caughtUpAt: position }),
        () => checkpoints.push(storedBuildRecord(folder, index)?.safe),
      )
    await write(writer, [lineEntry({}, 1)], 1)
    expect(await synced(1)).to.have.members([`${file}-wal`, file, own, build, folder])
    await write(writer, [lineEntry({}, 2)], 2)
    expect(await synced(2)).to.deep.equal([`${file}-wal`])
    expect([checkpoints, storedBuildRecord(folder, index)?.safe]).to.deep.equal([[0, 0, 0, 0, 0, 1], 2])
    const copied = await syncedBy(() => write(writer, [lineEntry({}, 3)], 3, other))
    expect(copied, 'whole before it has its name').to.deep.equal([join(build, 'other', `${day}.db-new`)])
    // The first has not closed it.
    const next = createSqliteIndexWriter({ folder, limits })
    const left = await syncedBy(() => next.open(index, fixture, epoch))
    expect(left).to.include.members([`${file}-wal`, file, own, build, folder])
    await next.close()
  })

  it('is no more for every heartbeat: nothing of a full disk would be left to searches and to what makes room', async () => {
    await write(writer, [lineEntry({}, 1)], 1)
    for (let at = 1; at <= 500; at++) await writer.heartbeat(index, { position: 1, head: 1, at, caughtUpAt: at })
    expect(statSync(join(build, 'meta.db-wal')).size).to.be.below(256 * 1024)
  })

  it('is nothing of a batch during which the disk has got full', async () => {
    const { folder } = given
    await write(writer, [lineEntry({}, 1)], 1)
    let asked = 0
    let isFull = false
    const checkRoom = (): void => {
      asked++
      if (isFull && asked > 1) throw new TransientError({ operation: 'write to', subject: 'its disk' })
    }
    const next = createSqliteIndexWriter({ folder, limits, checkRoom })
    await next.open(index, fixture, epoch)
    ;[asked, isFull] = [0, true]
    expect(await rejection(write(next, [lineEntry({}, 2)], 2))).to.be.instanceOf(TransientError)
    const stored = (): unknown => {
      const file = new DatabaseSync(given.dayFile())
      try {
        return file.prepare('SELECT position FROM file').get()?.['position']
      } finally {
        file.close()
      }
    }
    expect(stored()).to.equal(1)
    isFull = false
    await write(next, [lineEntry({}, 2)], 2)
    expect(stored()).to.equal(2)
    await next.close()
  })

  it('is synced once where more files are written than are open at once', async () => {
    const { folder } = given
    const few = createSqliteIndexWriter({ folder, limits: { ...limits, indexFilesOpenMax: 1 }, syncEveryMs: 0 })
    await few.open(index, fixture, epoch)
    await write(few, [lineEntry({}, 1)], 1)
    const closed = await syncedBy(() => write(few, [lineEntry({}, 1)], 1, other))
    expect(closed).to.include.members([`${given.dayFile()}-wal`, given.dayFile(), own, build, folder])
    const theirs = join(build, other)
    const file = join(theirs, `${day}.db`)
    const heartbeat = { position: 1, head: 1, at: 1, caughtUpAt: 1 }
    const synced = await syncedBy(() => few.heartbeat(index, heartbeat))
    expect(synced).to.have.members([`${file}-wal`, file, theirs, build, folder])
    const next = createSqliteIndexWriter({ folder, limits })
    rmSync(given.dayFile())
    await next.open(index, fixture, epoch)
    expect(missedDays(folder, index), 'both are named').to.deep.equal([{ workspaceId: acme, day }])
    for (const { close } of [few, next]) await close()
  })

  it('is what the checkpoint says, from time to time, and readers are told no more than that after a crash', async () => {
    const { folder } = given
    const slow = createSqliteIndexWriter({ folder, limits, syncEveryMs: 10_000 })
    const reader = createSqliteIndexReader({ folder, limits })
    await slow.open(index, fixture, epoch)
    // A disk that is slow just now would have it synced less often.
    const heartbeat = (position: number, at: number) =>
      withSteppingClock(1, () => slow.heartbeat(index, { position, head: position, at, caughtUpAt: at }))
    await write(slow, [lineEntry({}, 1)], 1)
    await heartbeat(1, 100_000)
    expect(await slow.checkpoint(index)).to.deep.equal({ epoch, position: 1 })
    await write(slow, [lineEntry({}, 2)], 2)
    await heartbeat(2, 105_000)
    expect(await slow.checkpoint(index)).to.deep.equal({ epoch, position: 1 })
    expect(await reader.progress('fixture')).to.include({ position: 2 })
    // Another process finds the folder as it is: the first has not closed it.
    const next = createSqliteIndexWriter({ folder, limits })
    expect(await next.checkpoint(index)).to.deep.equal({ epoch, position: 1 })
    await next.open(index, fixture, epoch)
    expect(await reader.progress('fixture')).to.include({ position: 1 })
    await heartbeat(2, 110_000)
    expect(await slow.checkpoint(index)).to.deep.equal({ epoch, position: 2 })
    await write(slow, [lineEntry({}, 3)], 3)
    await heartbeat(3, 50_000)
    expect(await slow.checkpoint(index), 'of a clock that went back').to.deep.equal({ epoch, position: 3 })
    for (const { close } of [slow, next, reader]) await close()
  })

  it('is synced less often where that takes long, and as often as before where it no longer does', async () => {
    const patient = createSqliteIndexWriter({ folder: given.folder, limits, syncEveryMs: 2_000 })
    await patient.open(index, fixture, epoch)
    const checkpointAt = async (at: number, tookMs: number): Promise<number> => {
      const position = at / 1_000
      await write(patient, [lineEntry({}, position)], position)
      const heartbeat = { position, head: position, at, caughtUpAt: at }
      await withSteppingClock(tookMs, () => patient.heartbeat(index, heartbeat))
      return (await patient.checkpoint(index)).position
    }
    expect([await checkpointAt(100_000, 50), await checkpointAt(102_000, 400)]).to.deep.equal([100, 102])
    expect([await checkpointAt(104_000, 50), await checkpointAt(109_000, 50)]).to.deep.equal([102, 102])
    expect([await checkpointAt(110_000, 50), await checkpointAt(112_000, 50)]).to.deep.equal([110, 112])
    expect(await checkpointAt(114_000, 60_000), 'of a disk that stands still once').to.equal(114)
    expect([await checkpointAt(233_000, 50), await checkpointAt(234_000, 50)], 'a minute after').to.deep.equal([
      114, 234,
    ])
    expect(await checkpointAt(236_000, 50)).to.equal(236)
    await patient.close()
  })

  it('is not synced where it is for its process alone, as what an index is compared with', async () => {
    const scratch = createSqliteIndexWriter({
      folder: join(given.folder, 'scratch'),
      limits,
      keeps: 'sums',
      syncEveryMs: 0,
    })
    await scratch.open(index, fixture, epoch)
    const synced = await syncedBy(async () => {
      await write(scratch, [lineEntry({}, 1), lineEntry({}, 1, { day: previousDay })], 1)
      await scratch.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 })
      await scratch.close()
    })
    expect(synced).to.deep.equal([])
  })

  it('no longer names a day before its file goes, and that it is gone', async () => {
    await write(writer, [lineEntry({}, 1), lineEntry({}, 1, { day: previousDay })], 1)
    await writer.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 })
    const isThere: boolean[] = []
    const dropped = await syncedBy(
      () => writer.dropDays(index, { of: () => day, all: day }),
      () => isThere.push(existsSync(join(own, `${previousDay}.db`))),
    )
    expect([dropped, isThere]).to.deep.equal([
      [join(build, 'meta.db-wal'), own],
      [true, false],
    ])
    const erased = await syncedBy(() => writer.eraseWorkspace(index, acme, 2))
    expect(erased).to.deep.equal([join(build, 'meta.db-wal'), own, build])
  })

  it('is each change of a roster', () => {
    const live = openRosters(given.folder)
    expect(live.get('PRAGMA synchronous')).to.deep.include({ synchronous: 2n })
    live.close()
  })

  it('is a day that is dropped, whole for who has it open, and what is written to that day later', async () => {
    const reader = createSqliteIndexReader({ folder: given.folder, limits })
    await write(writer, [lineEntry({}, 1)], 1)
    expect(await idsOf(reader, 'lines', everything)).to.have.length(1)
    const handle = openSync(given.dayFile(), 'r')
    await writer.dropDays(index, { of: () => '2026-11-22', all: '2026-11-22' })
    const path = join(given.folder, 'held.db')
    writeFileSync(path, readFileSync(handle))
    closeSync(handle)
    const held = new DatabaseSync(path)
    expect(held.prepare('SELECT count(*) AS n FROM r_lines').get()).to.deep.include({ n: 1 })
    held.close()
    await write(writer, [lineEntry({}, 2), lineEntry({}, 3)], 3)
    expect(await idsOf(reader, 'lines', everything)).to.have.length(2)
    await reader.close()
  })

  it('is of one log: a file of another in its place is not written to', async () => {
    await write(given.writer, [lineEntry({}, 1)], 1)
    await given.writer.close()
    const file = new DatabaseSync(given.dayFile())
    file.exec(`UPDATE file SET epoch = 'another'`)
    file.close()
    writer = createSqliteIndexWriter({ folder: given.folder, limits })
    await writer.open(index, fixture, epoch)
    expect(String(await rejection(write(writer, [lineEntry({}, 2)], 2)))).to.include('it is not of the log of')
  })

  it('is of one workspace and day: the file of another one in its place is neither read nor written to', async () => {
    const previous = lineEntry({}, 2, { day: previousDay })
    await write(writer, [lineEntry({}, 1), previous], 2)
    await write(writer, [lineEntry({}, 3)], 3, other)
    const file = given.dayFile()
    await writer.close()
    const kept = readFileSync(file)
    writer = createSqliteIndexWriter({ folder: given.folder, limits })
    for (const path of [join(build, 'other', `${day}.db`), join(own, `${previousDay}.db`)]) {
      await writer.close()
      writeFileSync(file, readFileSync(path))
      const reader = createSqliteIndexReader({ folder: given.folder, limits })
      const refused = 'it is the file of another workspace or day'
      expect(String(await rejection(idsOf(reader, 'lines', everything)))).to.include(refused)
      await reader.close()
      writer = createSqliteIndexWriter({ folder: given.folder, limits })
      await writer.open(index, fixture, epoch)
      expect(String(await rejection(write(writer, [lineEntry({}, 4)], 4)))).to.include(refused)
    }
    writeFileSync(file, kept)
    const reader = createSqliteIndexReader({ folder: given.folder, limits })
    expect(await idsOf(reader, 'lines', everything)).to.have.length(2)
    await reader.close()
  })

  it('is how far each share of the work has come', async () => {
    const begun = async (share: string, position = 0): Promise<number> => {
      const of = createSqliteIndexWriter({ folder: given.folder, limits, share })
      await of.open(index, fixture, epoch)
      if (position > 0) await write(of, [lineEntry({}, position)], position)
      const { position: at } = await of.checkpoint(index)
      await of.close()
      return at
    }
    expect([await begun('a', 5), await begun('a'), await begun('b')]).to.deep.equal([0, 5, 0])
    const whole = createSqliteIndexWriter({ folder: given.folder, limits })
    await whole.open(index, fixture, epoch)
    await write(whole, [lineEntry({}, 9)], 9)
    await whole.close()
    expect([await begun('a'), await begun('b')], 'the build has come further').to.deep.equal([9, 9])
  })

  it('is the words of each field of a document, also where one has gone from a field to another', async () => {
    type Pair = Readonly<{ a: string; b: string }>
    const pairs: Collection<Pair> = {
      name: 'pairs',
      kind: 'document',
      lookbackDays: 1,
      fields: { a: 'tokens', b: 'tokens' },
      searchable: (fields) => ({ timeNs: 0n, fields }),
    }
    const paired = 'paired-v1-001'
    await writer.open(paired, { ...fixture, name: 'paired', collections: { pairs } }, epoch)
    await promote(writer, 'paired', paired)
    for (const [at, document] of [
      { a: 'xy', b: '' },
      { a: 'x', b: 'y' },
    ].entries()) {
      const entry = { collection: 'pairs', id: 'p', day, created: 1, position: at + 1, document }
      await writer.write(paired, [{ workspaceId: acme, entries: [entry] }], { epoch, position: at + 1 })
    }
    const reader = createSqliteIndexReader({ folder: given.folder, limits })
    const counts = ['xy', 'x', 'y'].map((token) =>
      reader.count(
        { ...scopeOf('pairs'), projection: 'paired' },
        { filter: { kind: 'phrase', fields: ['a', 'b'], tokens: [token] } },
      ),
    )
    expect(await Promise.all(counts)).to.deep.equal([0, 1, 1])
    await reader.close()
  })
})
