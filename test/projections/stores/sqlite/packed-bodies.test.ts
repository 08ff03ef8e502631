import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import type { Digest } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import type { Entry } from '#projections/projection.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { dayMs } from '#src/lib/day.ts'
import {
  acme,
  day,
  epoch,
  everything,
  fixture,
  index,
  lineEntry,
  noonNs,
  other,
  scopeOf,
  thingEntry,
  type Thing,
  walk,
} from '#test/support/index-fixture.ts'
import { createRandom } from '#test/support/random.ts'
import { digestsIn, limits, openSqliteFixture, type SqliteFixture } from '#test/support/sqlite-fixture.ts'

const batches = 10
const linesOfBatch = 80
const nextNoonMs = Date.parse('2026-11-22T12:00:00Z')
const turnsMax = 2_000
/** More than a file must have to be packed. */
const wordsOfLine = 300

describe('the bodies of a day that is over', () => {
  let store: SqliteFixture
  let writer: IndexWriter
  let turn = 0

  beforeEach(async () => {
    store = await openSqliteFixture()
    writer = store.writer
    turn = 0
  })
  afterEach(async () => {
    await writer.close()
    store.remove()
  })

  const random = createRandom(11)
  const textOf = (): string => Array.from({ length: wordsOfLine }, () => `word${random.below(3_000)}`).join(' ')
  const lineAt = (at: number, position: number, text = textOf()): Entry =>
    lineEntry({ timeNs: noonNs + BigInt(at) * 1_000_000n, text, level: 'info', size: at }, position, {})
  const writeTo = (build: string, entries: readonly Entry[], position: number, workspaces = [acme]): Promise<void> => {
    const changes = workspaces.map((workspaceId) => ({ workspaceId, entries }))
    return writer.write(build, changes, { epoch, position })
  }
  async function writeDay({ builds = [index], workspaces = [acme] } = {}): Promise<void> {
    for (let batch = 0; batch < batches; batch++) {
      const position = batch + 1
      const lines = Array.from({ length: linesOfBatch }, (_, each) => lineAt(batch * 1_000 + each, position))
      const things = Array.from({ length: 5 }, (_, each) =>
        thingEntry(`thing ${batch} ${each}`, { note: textOf() }, position),
      )
      for (const build of builds) await writeTo(build, [...lines, ...things], position, workspaces)
    }
  }

  async function openAgain(): Promise<void> {
    writer = createSqliteIndexWriter({ folder: store.folder, limits })
    await writer.open(index, fixture, epoch)
  }
  /** It ends what would go on for ever: nothing here lets a timer of mocha do that. */
  const beat = async (onMs = nextNoonMs): Promise<void> => {
    if (++turn > turnsMax) throw new Error(`still not tidy after ${turnsMax} turns`)
    const at = onMs + turn * 1_000
    await writer.heartbeat(index, { position: batches, head: batches, at, caughtUpAt: at })
  }
  function inFile<T>(read: (database: DatabaseSync) => T, workspaceId = acme): T {
    const database = new DatabaseSync(join(store.folder, index, workspaceId, `${day}.db`))
    try {
      return read(database)
    } finally {
      database.close()
    }
  }
  const numberOf = (sql: string, workspaceId = acme): number =>
    inFile((database) => Number(Object.values(database.prepare(sql).get() ?? {})[0]), workspaceId)
  const unpacked = (workspaceId = acme): number => numberOf('SELECT count(*) FROM b_lines', workspaceId)
  const tamper = (sql: string): void => inFile((database) => database.exec(sql))
  /** Beats until nothing changes in the file any more. */
  async function beatUntilTidy(): Promise<void> {
    const idleTurns = 5
    for (let idle = 0, last = ''; idle < idleTurns;) {
      await beat()
      const now = [unpacked(), numberOf('PRAGMA freelist_count'), numberOf('SELECT count(*) FROM f_lines_idx')].join()
      idle = now === last ? idle + 1 : 0
      last = now
    }
  }

  const digestsOf = (build = index): Promise<readonly Digest[]> => digestsIn(store.folder, { build })
  async function entriesOf(collection: string): Promise<readonly Entry[]> {
    const audit = createSqliteIndexAudit({ folder: store.folder })
    const frozen = await audit.freeze(index, { workspaceId: acme, day })
    const entries: Entry[] = []
    for await (const entry of frozen.entries(collection)) entries.push(entry)
    await frozen.release()
    await audit.close()
    return entries
  }
  async function allFound(): Promise<unknown> {
    const reader = createSqliteIndexReader({ folder: store.folder, limits })
    const newest = { orderBy: 'timeNs', direction: 'desc', limit: 70 } as const
    const ending = { kind: 'pattern', fields: ['message'], prefix: '', regex: '.*d17', ofWords: true } as const
    const found = [
      await reader.search(scopeOf('lines'), { ...newest, filter: ending }),
      await walk(reader, 'lines', newest),
      await walk(reader, 'things', { ...newest, direction: 'asc' }),
      await reader.search(scopeOf('lines'), { ...newest, filter: everything, charactersMax: 20_000 }),
      await reader.search(scopeOf('lines'), {
        ...newest,
        filter: { kind: 'phrase', fields: ['message'], tokens: ['word17'] },
      }),
      await reader.get(scopeOf('things'), ['thing 3 2', 'thing 9 4', 'none']),
    ]
    await reader.close()
    return found
  }

  it('are packed, a little with each beat; all is found and compared as before, and the file is smaller', async () => {
    await writeDay({ workspaces: [acme, other] })
    await beat()
    const [before, digests, entries] = [await allFound(), await digestsOf(), await entriesOf('lines')]
    const bytes = statSync(store.dayFile()).size
    for (let some = unpacked(); unpacked() === some;) await beat()
    expect(unpacked(), 'in the first turn').above(0)
    expect(await allFound()).to.deep.equal(before)
    await beatUntilTidy()
    expect([unpacked(), numberOf('SELECT count(*) FROM b_things')]).to.deep.equal([0, 0])
    expect(numberOf('SELECT count(*) FROM p_lines'), 'parts').above(batches * linesOfBatch * 0.1)
    expect([await allFound(), await digestsOf(), await entriesOf('lines')]).to.deep.equal([before, digests, entries])
    while (unpacked(other) > 0) await beat()
    await writer.close()
    expect(statSync(store.dayFile()).size).below(0.7 * bytes)
    await openAgain()
    await beat()
    expect(await digestsOf()).to.deep.equal(digests)
  })

  it('are left as they are while the day goes on, and in a small file', async () => {
    await writeDay()
    for (let turns = 0; turns < 20; turns++) await beat(Date.parse(`${day}T13:00:00Z`))
    expect(unpacked()).to.equal(batches * linesOfBatch)
    await writer.eraseWorkspace(index, acme, batches)
    await writeTo(index, [lineAt(0, batches + 1)], batches + 1)
    for (let turns = 0; turns < 20; turns++) await beat()
    expect([unpacked(), numberOf('PRAGMA user_version')]).to.deep.equal([1, 1])
  })

  it('are packed too where the file was made after the days that are over had their turn', async () => {
    await beat()
    await writeDay()
    while (unpacked() > 0) await beat()
  })

  it('are packed also while records of that day go on coming each second, and hold up no other file', async () => {
    const workspaces = [acme, other]
    await writeDay({ workspaces })
    const segments: number[] = []
    const left = (): number => unpacked() + unpacked(other)
    while (left() > 0) {
      const position = batches + 1 + turn
      await writeTo(index, [thingEntry('thing 3 2', { note: textOf() }, position)], position, [other])
      await beat()
      segments.push(numberOf('SELECT count(DISTINCT segid) FROM f_things_idx', other))
    }
    expect(Math.max(...segments), 'segments').below(32)
    // When no more come, all is merged as in any file.
    for (let turns = 0; turns < 200; turns++) await beat()
    expect(
      workspaces.map((workspaceId) => numberOf('SELECT count(DISTINCT segid) FROM f_things_idx', workspaceId)),
    ).to.deep.equal([1, 1])
  })

  it('are packed on the day after where they came when their file had had its turn', async () => {
    await writeDay()
    await beatUntilTidy()
    const late = Array.from({ length: linesOfBatch }, (_, each) => lineAt(batches * 1_000 + each, batches + 1))
    await writeTo(index, late, batches + 1)
    for (let turns = 0; turns < 100; turns++) await beat()
    expect(unpacked()).to.equal(linesOfBatch)
    while (unpacked() > 0) await beat(nextNoonMs + dayMs)
  })

  it('are left as they are in a file that was made before, which could not become smaller', async () => {
    await writeDay()
    await writer.close()
    tamper('PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA journal_mode = WAL')
    await openAgain()
    for (let turns = 0; turns < 20; turns++) await beat()
    expect([unpacked(), numberOf('PRAGMA user_version')]).to.deep.equal([batches * linesOfBatch, 1])
  })

  it('may be written again, replaced, and followed by others: what was written last counts', async () => {
    const unpackedBuild = 'fixture-v1-002'
    await writer.open(unpackedBuild, fixture, epoch)
    await writeDay({ builds: [index, unpackedBuild] })
    await beatUntilTidy()
    const position = batches + 1
    const first = lineAt(0, position, 'again')
    const later = [
      { ...first, replaces: true },
      lineAt(500, position),
      lineAt(1_000_000, position),
      thingEntry('thing 3 2', { note: 'other' }, position),
      // The last one of the last part.
      thingEntry('thing 9 4', { note: 'other' }, position),
      thingEntry('thing 4 1', { note: 'later', timeNs: noonNs + 5_000_000_000n }, position),
      thingEntry('new', { note: textOf() }, position),
    ]
    for (const build of [index, unpackedBuild]) await writeTo(build, later, position)
    expect(await digestsOf()).to.deep.equal(await digestsOf(unpackedBuild))
    const [key] = await writer.load(index, [{ workspaceId: acme, collection: 'things', id: 'thing 3 2', day }])
    expect(key?.map(({ document }) => (document as Thing).note)).to.deep.equal(['other'])
    const [found, digests] = [await allFound(), await digestsOf()]
    expect(unpacked()).above(0)
    // The next day, what is later than all that was packed is packed too; the rest stays beside it.
    for (let turns = 0; turns < 20; turns++) await beat(nextNoonMs + 86_400_000)
    expect([unpacked(), numberOf('SELECT count(*) FROM b_things')]).to.deep.equal([2, 2])
    expect([await allFound(), await digestsOf()]).to.deep.equal([found, digests])
  })

  it('are packed to the end by another process if one was killed on the way', async () => {
    await writeDay()
    const digests = await digestsOf()
    for (let some = unpacked(); unpacked() === some;) await beat()
    await writer.close()
    await openAgain()
    await beatUntilTidy()
    expect(unpacked()).to.equal(0)
    expect(await digestsOf()).to.deep.equal(digests)
  })

  it('are damage where they cannot be unpacked, and a difference where they say something else', async () => {
    await writeDay()
    await beatUntilTidy()
    const digests = await digestsOf()
    const some = 'last = (SELECT min(last) FROM p_lines)'
    tamper(`UPDATE p_lines SET last = last + 1 WHERE ${some}`)
    expect((await digestsOf())[0]?.content).not.to.equal(digests[0]?.content)
    tamper(`UPDATE p_lines SET last = last - 1 WHERE ${some}`)
    expect(await digestsOf()).to.deep.equal(digests)
    inFile((database) => {
      const part = database.prepare(`SELECT part FROM p_lines WHERE ${some}`).get()?.['part'] as Uint8Array
      part[200] = ~(part[200] ?? 0)
      database.prepare(`UPDATE p_lines SET part = ? WHERE ${some}`).run(part)
    })
    const failure = await digestsOf().catch((error: unknown) => error)
    expect(failure).to.have.property('name', 'PermanentError')
    expect(String(failure)).to.include(`${day}.db`).and.include('damaged')
    tamper(`DELETE FROM p_lines WHERE ${some}`)
    expect((await digestsOf())[0]?.content).not.to.equal(digests[0]?.content)
  })
})
