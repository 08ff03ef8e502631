import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import type { Digest } from '#projections/index-audit.ts'
import type { Heartbeat, IndexWriter } from '#projections/index-store.ts'
import { openDatabase } from '#projections/stores/sqlite/database.ts'
import { layOutDay, tablesOf } from '#projections/stores/sqlite/layout.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import {
  acme,
  day,
  epoch,
  fixture,
  index,
  lineEntry,
  lines,
  noonNs,
  other,
  scopeOf,
  thingEntry,
  write,
} from '#test/support/index-fixture.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { createRandom } from '#test/support/random.ts'
import { promote } from '#test/support/promote.ts'
import { digestsIn, limits } from '#test/support/sqlite-fixture.ts'

const tidying = { pagesPerTurn: 3, packedPagesMin: Infinity }
const batches = 12
const previousDay = '2026-11-20'
const nextDay = '2026-11-22'
const nextNoonMs = Date.parse(`${nextDay}T12:00:00Z`)
const turnsMax = 500
/** Of a level. They come from so many batches: two levels of them. */
const segmentsMerged = 16
const batchesMerged = 40
const rowsOfBatch = 2_000
/** First comes what has no postings. */
const { sets, ...searchable } = fixture.collections
const projection = { ...fixture, collections: { sets: sets!, ...searchable } }

/** How many files a task opens: each is closed again. */
async function filesOpenedBy(task: () => Promise<unknown>): Promise<number> {
  const { prototype } = DatabaseSync
  const { close } = prototype
  let opened = 0
  prototype.close = function (this: DatabaseSync) {
    opened++
    close.call(this)
  }
  try {
    await task()
  } finally {
    prototype.close = close
  }
  return opened
}

describe('the postings of a day', () => {
  let folder: string
  let writer: IndexWriter

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-merge-'))
    writer = createSqliteIndexWriter({ folder, limits, tidying })
    await writer.open(index, projection, epoch)
    await promote(writer, 'fixture', index)
  })
  afterEach(async () => {
    await writer.close()
    rmSync(folder, { recursive: true })
  })

  const fileOf = (onDay: string, workspaceId = acme): string => join(folder, index, workspaceId, `${onDay}.db`)
  const filesOf = (workspaceId: string): readonly string[] =>
    readdirSync(join(folder, index, workspaceId)).filter((name) => name.endsWith('.db'))
  /** Of how many segments the pages are, as FTS5's own table has them. */
  function segmentsIn(path: string, collection: string): number {
    const database = new DatabaseSync(path, { readOnly: true })
    try {
      return Number(database.prepare(`SELECT count(DISTINCT segid) AS n FROM f_${collection}_idx`).get()?.['n'])
    } finally {
      database.close()
    }
  }

  /** Each batch leaves a segment; words enough for pages of their own. */
  async function writeBatches(onDay = day, workspaceId = acme, from = 0): Promise<void> {
    const random = createRandom(7)
    for (let batch = from; batch < from + batches; batch++) {
      const position = batch + 1
      const entries = Array.from({ length: 60 }, (_, each) => {
        const text = Array.from({ length: 12 }, () => `word${random.below(5_000)}`).join(' ')
        const timeNs = noonNs + BigInt(batch * 1_000 + each) * 1_000_000n
        const line = lineEntry({ timeNs, text, level: 'info', size: each }, position, { day: onDay })
        return { ...line, id: `${line.id.slice(0, -4)}${String(each).padStart(4, '0')}` }
      })
      const thing = thingEntry('thing', { note: `note ${batch}`, weight: batch }, position, { day: onDay })
      await write(writer, [...entries, thing], position, workspaceId)
    }
  }

  const beat = (at: number, behind: Partial<Heartbeat> = {}): Promise<void> =>
    writer.heartbeat(index, { position: batches, head: batches, at, caughtUpAt: at, ...behind })

  /** Beats of the clock until the day's lines are in one segment. */
  async function beatUntilMerged(path: string, behind?: Partial<Heartbeat>): Promise<number> {
    for (let turn = 1; turn <= turnsMax; turn++) {
      await beat(nextNoonMs + turn * 1_000, behind)
      if (segmentsIn(path, 'lines') === 1) return turn
    }
    throw new Error(`not merged after ${turnsMax} turns`)
  }

  const digestsOf = (workspaceId = acme, onDay = day): Promise<readonly Digest[]> =>
    digestsIn(folder, { workspaceId, onDay })
  const found = async (word: string): Promise<readonly string[]> => {
    const reader = createSqliteIndexReader({ folder, limits })
    const filter = { kind: 'phrase', fields: ['message'], tokens: [word] } as const
    const hits = await reader.search(scopeOf('lines'), { filter, orderBy: 'timeNs', direction: 'desc', limit: 1_000 })
    await reader.close()
    return hits.map(({ id }) => id)
  }

  it('become one segment, a little with each beat, and all is found as before', async () => {
    await writeBatches()
    expect(segmentsIn(fileOf(day), 'lines')).to.equal(batches)
    const [before, digests] = [await found('word17'), await digestsOf()]
    expect(before).not.to.deep.equal([])
    expect(await beatUntilMerged(fileOf(day)), 'turns').above(2)
    expect(await found('word17')).to.deep.equal(before)
    expect(await digestsOf()).to.deep.equal(digests)
  })

  it('of every workspace, those of days that are over first', async () => {
    await writeBatches()
    await writeBatches(day, other)
    await writeBatches(nextDay, acme, batches)
    await beatUntilMerged(fileOf(day, other))
    await beatUntilMerged(fileOf(day))
    expect(segmentsIn(fileOf(nextDay), 'lines')).to.equal(batches)
    await beatUntilMerged(fileOf(nextDay))
  })

  it('become fewer while the day goes on: four of a size become one, looked for each minute', async () => {
    await writeBatches(nextDay)
    expect(await beatUntilMerged(fileOf(nextDay)), 'turns').below(40)
    for (let turn = 40; turn < 60; turn++) await beat(nextNoonMs + turn * 1_000)
    await writeBatches(nextDay, acme, batches)
    const [before, digests] = [await found('word17'), await digestsOf(acme, nextDay)]
    await beat(nextNoonMs + 60_000)
    const segments = segmentsIn(fileOf(nextDay), 'lines')
    for (let turn = 61; turn <= turnsMax; turn++) await beat(nextNoonMs + turn * 1_000)
    expect([segments, segmentsIn(fileOf(nextDay), 'lines')]).to.deep.equal([batches + 1, 2])
    expect(await found('word17')).to.deep.equal(before)
    expect(await digestsOf(acme, nextDay)).to.deep.equal(digests)
  })

  it('wait while the build is behind, unless by a moment, and no second beat within a second does more', async () => {
    await writeBatches()
    const behind = { head: batches + 1 }
    for (let turn = 1; turn <= 100; turn++)
      await beat(nextNoonMs + turn * 1_000, { ...behind, caughtUpAt: nextNoonMs - 2_000 })
    expect(segmentsIn(fileOf(day), 'lines')).to.equal(batches)
    for (let turn = 1; turn <= 100; turn++) await beat(nextNoonMs + turn)
    expect(segmentsIn(fileOf(day), 'lines')).above(1)
    await beatUntilMerged(fileOf(day), behind)
  })

  it('may be written to in between: all of it is found', async () => {
    await writeBatches()
    for (let turn = 1; turn <= 3; turn++) await beat(nextNoonMs + turn * 1_000)
    await writeBatches(day, acme, batches)
    const [before, digests] = [await found('word17'), await digestsOf()]
    await beatUntilMerged(fileOf(day))
    expect(await found('word17')).to.deep.equal(before)
    expect(await digestsOf()).to.deep.equal(digests)
  })

  it('of a file that has gone, or is damaged, are left alone, and others are merged all the same', async () => {
    await writeBatches(previousDay)
    await writeBatches(day, other)
    await beat(nextNoonMs)
    await writer.close()
    // Its turn comes before that of the day before it.
    writeFileSync(fileOf(day), 'no database')
    writer = createSqliteIndexWriter({ folder, limits, tidying })
    await writer.open(index, projection, epoch)
    await beat(nextNoonMs + 1_000)
    await writer.eraseWorkspace(index, other, 2 * batches)
    await beatUntilMerged(fileOf(previousDay))
    expect(readdirSync(join(folder, index))).not.to.include('other')
  })

  it('of a file that cannot be written to for a while are merged when it can be, and others meanwhile', async () => {
    await writeBatches(previousDay)
    await writeBatches(day, acme, batches)
    await writer.close()
    // SQLite can make no write-ahead log there, as on a full disk.
    const blocked = `${fileOf(day)}-wal`
    mkdirSync(blocked)
    writer = createSqliteIndexWriter({ folder, limits, tidying })
    await writer.open(index, projection, epoch)
    await beatUntilMerged(fileOf(previousDay))
    rmdirSync(blocked)
    expect(segmentsIn(fileOf(day), 'lines')).to.equal(batches)
    await beatUntilMerged(fileOf(day))
  })

  it('of a day that is dropped meanwhile do not make its file anew', async () => {
    for (const onDay of [previousDay, day]) await writeBatches(onDay, acme, onDay === day ? batches : 0)
    await writeBatches(nextDay, acme, 2 * batches)
    await beat(nextNoonMs)
    await writer.dropDays(index, { of: () => nextDay, all: nextDay })
    for (let turn = 1; turn <= 10; turn++) await beat(nextNoonMs + turn * 1_000)
    expect(filesOf(acme)).to.deep.equal([`${nextDay}.db`])
  })

  it('are merged within a few beats by as much as a server does, and their file is closed after it', async () => {
    await writeBatches()
    await writer.close()
    writer = createSqliteIndexWriter({ folder, limits })
    await writer.open(index, projection, epoch)
    for (let turn = 1; turn <= 5; turn++) await beat(nextNoonMs + turn * 1_000)
    // The last who closes a file takes its write-ahead log away.
    expect(readdirSync(join(folder, index, acme))).to.deep.equal([`${day}.db`])
    expect(segmentsIn(fileOf(day), 'lines')).to.equal(1)
  })

  it('become fewer also after the clock was set back', async () => {
    for (let turn = 0; turn < 3; turn++) await beat(nextNoonMs + 3_600_000 + turn * 1_000)
    await writeBatches(nextDay)
    await beatUntilMerged(fileOf(nextDay))
  })

  it('of many workspaces are checked a few in each turn, however many they are', async () => {
    const openedOf = async (workspaces: number): Promise<readonly number[]> => {
      const own = `fixture-v1-${workspaces}`
      await writer.open(own, projection, epoch)
      const beatOf = (at: number): Promise<void> => writer.heartbeat(own, { position: 2, head: 2, at, caughtUpAt: at })
      for (let each = 0; each < workspaces; each++) {
        const workspaceId = workspaceIdOf(`many-${each}`)
        for (const [at, onDay] of [day, nextDay].entries()) {
          const entries = [lineEntry({}, at + 1, { day: onDay })]
          await writer.write(own, [{ workspaceId, entries }], { epoch, position: at + 1 })
        }
      }
      // The first day's are listed, then what was written.
      return [await filesOpenedBy(() => beatOf(nextNoonMs)), await filesOpenedBy(() => beatOf(nextNoonMs + 60_000))]
    }
    const opened = await openedOf(20)
    expect(Math.min(...opened)).to.be.above(0)
    expect(await openedOf(60)).to.deep.equal(opened)
  })

  it('of a day that grows are merged in steps: no batch writes many times what another writes', () => {
    const database = openDatabase(join(folder, 'grown.db'))
    const tables = tablesOf(lines)
    layOutDay(database, [tables], epoch)
    const random = createRandom(7)
    const changesOf = (): number => Number(database.get('SELECT total_changes() AS n')?.['n'])
    const written = Array.from({ length: batchesMerged }, (_, batch) => {
      const before = changesOf()
      database.run('BEGIN')
      for (let row = 0; row < rowsOfBatch; row++) {
        const text = Array.from({ length: 12 }, () => `word${random.below(100_000)}`).join(' ')
        database.run(`INSERT INTO ${tables.terms} (rowid, keywords) VALUES (?, ?)`, batch * rowsOfBatch + row, text)
      }
      database.run('COMMIT')
      return changesOf() - before - 2 * rowsOfBatch
    })
    database.close()
    const [most, usual] = [Math.max(...written), written.toSorted((a, b) => a - b)[batchesMerged / 2]]
    expect(most, `${usual} changes are usual`).to.be.below(segmentsMerged * Number(usual))
  })
})
