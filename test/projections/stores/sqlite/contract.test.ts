import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { createDocumentCache } from '#projections/folding/documents.ts'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { foldBatch } from '#projections/folding/fold-batch.ts'
import { TooBroadError, type IndexReader, type IndexWriter } from '#projections/index-store.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import type { Database } from '#projections/stores/sqlite/database.ts'
import { coverOf } from '#projections/stores/sqlite/reading/expand.ts'
import { lastRow, msOf } from '#projections/stores/sqlite/rowid-parts.ts'
import { packedLayoutVersion } from '#projections/stores/sqlite/layout.ts'
import { createOpenFiles } from '#projections/stores/sqlite/open-files.ts'
import { createSqliteQueryThread } from '#projections/stores/sqlite/reading/query-thread.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { numberToken } from '#src/events/tokens.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { compareText } from '#src/lib/compare-text.ts'
import { leaveHotJournal } from '#test/support/hot-journal.ts'
import { createCrashLog } from '#test/support/index-crash-child.ts'
import {
  acme,
  day,
  epoch,
  everything,
  fixture,
  idsOf,
  index,
  lineEntry,
  lines,
  noonNs,
  other,
  scopeOf,
  walk,
  write,
  openFixture,
} from '#test/support/index-fixture.ts'
import { createRandom } from '#test/support/random.ts'
import { counting, lineDecoders } from '#test/support/line-projections.ts'
import { promote } from '#test/support/promote.ts'
import { limits, timesOpen } from '#test/support/sqlite-fixture.ts'
import { withSteppingClock } from '#test/support/stepping-clock.ts'

const build = 'counting-v1-001'

describe('the SQLite index', () => {
  let folder: string
  const open: (IndexReader | IndexWriter)[] = []
  const writerIn = (path: string, syncEveryMs = 0): IndexWriter => {
    const writer = createSqliteIndexWriter({ folder: path, limits, syncEveryMs })
    open.push(writer)
    return writer
  }
  const readerIn = (path: string): IndexReader => {
    const reader = createSqliteIndexReader({ folder: path, limits })
    open.push(reader)
    return reader
  }
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-index-'))
  })
  afterEach(async () => {
    for (const { close } of open.splice(0)) await close()
    rmSync(folder, { recursive: true })
  })
  it('opens a build whose making was killed half way', async () => {
    mkdirSync(join(folder, index), { recursive: true })
    leaveHotJournal(join(folder, index, 'meta.db'))
    const writer = writerIn(folder)
    expect(await writer.checkpoint(index)).to.deep.equal({ epoch: '', position: 0 })
    await writer.open(index, fixture, epoch)
    expect(await writer.checkpoint(index)).to.deep.equal({ epoch, position: 0 })
  })

  const openWriter = async (projection = fixture): Promise<IndexWriter> => {
    const writer = writerIn(folder)
    await writer.open(index, projection, epoch)
    await promote(writer, 'fixture', index)
    return writer
  }
  const dayFile = (): string => join(folder, index, 'acme', `${day}.db`)

  it('answers from all other files after it met a damaged one', async () => {
    const writer = await openWriter()
    await write(writer, [lineEntry({}, 1)], 1)
    await write(writer, [lineEntry({}, 2)], 2, other)
    await writer.close()
    open.splice(0)
    const damaged = readFileSync(dayFile())
    writeFileSync(dayFile(), damaged.fill(0xa5, 4_096))
    const reader = readerIn(folder)
    const look = (workspaceId: typeof acme) =>
      reader.count(scopeOf('lines', workspaceId), { filter: everything }).catch((error: unknown) => error)
    for (let round = 0; round < 2; round++) {
      const failure = await look(acme)
      expect(failure).to.be.instanceOf(PermanentError)
      expect(String(failure)).to.match(/: read .*malformed \(damaged: throughline rebuild folds its index again/)
      expect(await look(other)).to.equal(1)
    }
  })

  it('tells readers while it loads and writes a long batch, or drops days, that it is still folded, as far as it was', async () => {
    const writer = createSqliteIndexWriter({ folder, limits, tellAgainMs: 0 })
    open.push(writer)
    await openFixture(writer)
    const told = { position: 1, head: 9, at: 1_000, caughtUpAt: 500 }
    const dayAfter = '2026-11-22'
    await withSteppingClock(2, async () => {
      await writer.heartbeat(index, told)
      let before = told.at
      for (const work of [
        () => writer.load(index, [{ workspaceId: acme, collection: 'things', id: 'a', day }]),
        () => write(writer, [lineEntry({}, 2)], 2),
        () => writer.dropDays(index, { of: () => dayAfter, all: dayAfter }),
      ]) {
        await work()
        const progress = await readerIn(folder).progress('fixture')
        expect(progress).to.include({ position: 1, head: 9, caughtUpAt: 500 })
        expect(progress?.at).to.be.above(before)
        before = progress?.at ?? before
      }
    })
  })

  it('reads and goes on with a build of a program that knew of nothing ahead, nor of what was folded last', async () => {
    const writer = await openWriter()
    await write(writer, [lineEntry({}, 1)], 1)
    await writer.close()
    open.splice(0)
    const meta = new DatabaseSync(join(folder, index, 'meta.db'))
    for (const column of ['ahead', 'last']) meta.exec(`ALTER TABLE progress DROP COLUMN ${column}`)
    meta.close()
    expect(await readerIn(folder).progress('fixture')).to.not.have.property('ahead')
    const ahead = { position: 3, caughtUpAt: 2, behind: new Map([[acme, 1]]) }
    const next = writerIn(folder)
    await next.open(index, fixture, epoch)
    const told = { position: 1, head: 3, at: 2, caughtUpAt: 1, ahead, last: { position: 3, event: 'e' } }
    await next.heartbeat(index, told)
    expect(await readerIn(folder).progress('fixture')).to.deep.include(told)
  })

  it('removes a day that is over also where its file can be opened no more, as on a full disk', async () => {
    const writer = await openWriter()
    await write(writer, [lineEntry({}, 1)], 1)
    await writer.close()
    open.splice(0)
    symlinkSync(join(folder, 'nowhere', 'wal'), `${dayFile()}-wal`)
    expect(await writerIn(folder).dropDays(index, { of: () => '9999-12-31', all: '9999-12-31' })).to.equal(1)
    expect(existsSync(dayFile())).to.equal(false)
  })

  /** All that readers can find, of both workspaces. */
  const contents = async (reader: IndexReader) => {
    const found = []
    for (const workspaceId of [acme, other]) {
      for (const collection of ['counters', 'said', 'seenEvents']) {
        const scope = { workspaceId, projection: 'counting', collection }
        const query = { filter: everything, orderBy: 'timeNs', direction: 'asc', limit: 10_000 } as const
        const hits = await reader.search(scope, query)
        const counted = await reader.count(scope, {
          filter: { kind: 'phrase', fields: ['message'], tokens: ['e', 'f'] },
        })
        found.push({ workspaceId, collection, counted, hits })
      }
    }
    return found
  }
  const decode = createDecoder(lineDecoders)
  const foldInto = async (writer: IndexWriter, events: readonly RecordedEvent[], afterBatch = async () => {}) => {
    const complete = withSeenEvents(counting)
    await writer.open(build, complete, 'crash-log')
    const { position } = await writer.checkpoint(build)
    const left = events.filter((event) => event.position > position)
    for (let start = 0; start < left.length; start += 3) {
      const batch = left.slice(start, start + 3)
      const last = batch.at(-1)?.position ?? 0
      const cache = createDocumentCache({ cachedDocumentsMax: 10, cachedBytesMax: 1e6 })
      await foldBatch(complete, batch.map(decode), cache, (keys) => writer.load(build, keys))
      await writer.write(build, cache.takeChanged(), { epoch: 'crash-log', position: last })
      await afterBatch()
    }
    await promote(writer, 'counting', build)
  }
  const expectedContents = async (events: readonly RecordedEvent[]) => {
    const { writer, reader } = createMemoryIndexStore()
    await foldInto(writer, events)
    return await contents(reader)
  }

  it('comes to the same index after its process was killed at any moment', async () => {
    const random = createRandom(5)
    const log = await createCrashLog()
    const events = await log.read(0, 1_000)
    let kills = 0
    while (kills < 3) {
      const child = spawn(process.execPath, [join(import.meta.dirname, '../../../support/index-crash-child.ts')], {
        env: { ...process.env, INDEX_CRASH_FOLDER: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let left = 3 + random.below(12)
      createInterface({ input: child.stdout }).on('line', () => {
        if (--left === 0) child.kill('SIGKILL')
      })
      await once(child, 'exit')
      if (child.signalCode === 'SIGKILL') {
        kills++
        continue
      }
      // It was at its end when the signal came: all of it anew, or nothing would be left to kill.
      kills = 0
      rmSync(folder, { recursive: true })
      mkdirSync(folder)
    }
    await foldInto(writerIn(folder), events)
    expect(await contents(readerIn(folder))).to.deep.equal(await expectedContents(events))
    expect(await readerIn(folder).progress('counting')).to.not.have.property('lostDays')
  })

  it('comes to the same index after a power cut took from each file another part of what was not synced', async () => {
    const random = createRandom(6)
    const log = await createCrashLog()
    const events = await log.read(0, 1_000)
    const expected = await expectedContents(events)
    const before = mkdtempSync(join(tmpdir(), 'throughline-snapshots-'))
    const writer = writerIn(folder, 1_000_000)
    await writer.open(build, withSeenEvents(counting), 'crash-log')
    await writer.heartbeat(build, { position: 0, head: 0, at: 2_000_000, caughtUpAt: 0 })
    let snapshots = 0
    await foldInto(writer, events.slice(0, 90), async () => {
      cpSync(folder, join(before, `${snapshots++}`), { recursive: true })
    })
    expect(await writer.checkpoint(build)).to.deep.equal({ epoch: 'crash-log', position: 0 })
    for (let round = 0; round < 8; round++) {
      const torn = join(before, `torn-${round}`)
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.db'))
      for (const file of files) {
        const kept = join(before, `${random.below(snapshots)}`)
        mkdirSync(dirname(join(torn, file)), { recursive: true })
        for (const part of [file, `${file}-wal`]) {
          if (readdirSync(dirname(join(kept, part))).includes(part.split('/').at(-1) ?? '')) {
            copyFileSync(join(kept, part), join(torn, part))
          }
        }
      }
      await foldInto(writerIn(torn), events)
      expect(await contents(readerIn(torn)), `round ${round}`).to.deep.equal(expected)
      expect(await readerIn(torn).progress('counting')).to.not.have.property('lostDays')
    }
    for (const { close } of open.splice(0)) await close()
    rmSync(before, { recursive: true })
  })

  it('refuses files of a later layout, and files of another log', async () => {
    const writer = await openWriter()
    await write(writer, [lineEntry({}, 1)], 1)
    await writer.close()
    open.splice(0)
    const database = new DatabaseSync(dayFile())
    database.exec(`UPDATE file SET epoch = 'epoch-9'`)
    const again = await openWriter()
    const failure: unknown = await write(again, [lineEntry({}, 2)], 2).catch((error: unknown) => error)
    expect(String(failure)).to.match(/^PermanentError: .*not of the log/)
    const laterVersion = packedLayoutVersion + 1n
    database.exec(`PRAGMA user_version = ${laterVersion}`)
    database.close()
    const later: unknown = await write(again, [lineEntry({}, 2)], 2).catch((error: unknown) => error)
    expect(String(later)).to.match(new RegExp(`layout is version ${laterVersion}, .*newer program`))
    expect(timesOpen(dayFile()), 'it is tried again and again').to.equal(0)
    const read: unknown = await idsOf(readerIn(folder), 'lines', everything).catch((error: unknown) => error)
    expect(read).to.be.instanceOf(PermanentError)
    const meta = new DatabaseSync(join(folder, index, 'meta.db'))
    meta.exec(`PRAGMA user_version = ${laterVersion}`)
    meta.close()
    const opened: unknown = await writerIn(folder)
      .open(index, fixture, epoch)
      .catch((error: unknown) => error)
    expect(String(opened)).to.include(`layout is version ${laterVersion},`)
  })

  it('refuses collections that have changed under the same version', async () => {
    await (await openWriter()).close()
    open.splice(0)
    const { lines } = fixture.collections
    const changed = { ...fixture, collections: { ...fixture.collections, lines: { ...lines!, lookbackDays: 5 } } }
    const failure: unknown = await writerIn(folder)
      .open(index, changed, epoch)
      .catch((error: unknown) => error)
    expect(String(failure)).to.match(/raise the version/)
  })

  it('refuses a build of another log that it has not had open', async () => {
    await (await openWriter()).close()
    open.splice(0)
    const failure: unknown = await writerIn(folder)
      .open(index, fixture, 'epoch-9')
      .catch((error: unknown) => error)
    expect(String(failure)).to.match(/follows another log/)
  })

  it('keeps the order of time where one millisecond holds more records than it has numbers for', async () => {
    const numbered = { ...lines, countedTogether: false }
    const writer = await openWriter({ ...fixture, collections: { ...fixture.collections, lines: numbered } })
    await write(writer, [lineEntry({ text: 'first' }, 1)], 1)
    const database = new DatabaseSync(dayFile())
    const row = lastRow(msOf(noonNs))
    database.prepare('UPDATE r_lines SET row = ?').run(row)
    database.prepare('UPDATE b_lines SET row = ?').run(row)
    database.close()
    const entries = [3, 1, 2, 1_000_000, -1_000_000].map((ns, n) => lineEntry({ timeNs: noonNs + BigInt(ns) }, n + 2))
    await write(writer, entries.slice(0, 4), 5)
    // Its own millisecond has the rows of the full one by now.
    await write(writer, entries.slice(4), 6)
    const reader = readerIn(folder)
    for (const limit of [1, 2, 100]) {
      const hits = await walk(reader, 'lines', { orderBy: 'timeNs', direction: 'desc', limit })
      expect(hits.map(({ timeNs }) => timeNs - noonNs)).to.deep.equal([1_000_000n, 3n, 2n, 1n, 0n, -1_000_000n])
    }
    const found = await reader.get(
      scopeOf('lines'),
      entries.map(({ id }) => id),
    )
    expect(found.map(({ id }) => id)).to.deep.equal(entries.map(({ id }) => id))
    await write(writer, [{ ...lineEntry({ timeNs: noonNs + 3n }, 7), id: entries[0]?.id ?? '', replaces: true }], 7)
    expect(await reader.count(scopeOf('lines'), { filter: everything, fromNs: noonNs, toNs: noonNs + 4n })).to.equal(4)
    expect(await reader.count(scopeOf('lines'), { filter: everything, toNs: noonNs + 1_000_000n })).to.equal(5)
  })

  it('shows readers builds and days that were not there when they began', async () => {
    const reader = readerIn(join(folder, 'later'))
    expect(await idsOf(reader, 'lines', everything)).to.deep.equal([])
    const writer = writerIn(join(folder, 'later'))
    await writer.open(index, fixture, epoch)
    expect(await idsOf(reader, 'lines', everything)).to.deep.equal([])
    await promote(writer, 'fixture', index)
    for (const [n, at] of ['2026-11-21', '2026-11-22'].entries()) {
      await write(writer, [lineEntry({}, n + 1, { day: at })], n + 1)
      expect(await idsOf(reader, 'lines', everything)).to.have.length(n + 1)
    }
  })

  it('answers from a thread with its own errors, and fails clearly when that has ended', async () => {
    const writer = await openWriter()
    await write(
      writer,
      Array.from({ length: 1_001 }, (_, n) => lineEntry({ text: `w${n}` }, n + 1)),
      1_001,
    )
    const reader = createSqliteQueryThread({ folder, limits })
    const filter = { kind: 'pattern', fields: ['message'], prefix: 'w', regex: 'w.*' } as const
    const broad: unknown = await reader.count(scopeOf('lines'), { filter }).catch((error: unknown) => error)
    expect(broad).to.be.instanceOf(TooBroadError)
    expect(await reader.count(scopeOf('lines'), { filter: everything })).to.equal(1_001)
    await reader.close()
    const ended: unknown = await reader.progress('fixture').catch((error: unknown) => error)
    expect(ended).to.be.instanceOf(TransientError)
  })

  it('covers exactly the numbers of a range with a few hundred prefixes', () => {
    const random = createRandom(8)
    const number = (): number | bigint =>
      random.chance(0.2)
        ? (1n << 53n) * BigInt(random.below(1_000)) + BigInt(random.below(1_000)) - (1n << 60n)
        : (random.below(2_000) - 1_000) * 10 ** (random.below(12) - 4)
    const tokens = Array.from({ length: 300 }, () => numberToken('n', number()))
    for (let n = 0; n < 60; n++) {
      const [from, to] = [
        random.chance(0.8) ? numberToken('n', number()) : undefined,
        random.chance(0.8) ? random.pick(tokens) : undefined,
      ]
      const bounds = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
      const terms = coverOf({ kind: 'tokenRange', fields: [], prefix: 'n#', ...bounds }) ?? []
      expect(terms.length).to.be.below(1_024)
      for (const token of tokens) {
        const inRange =
          (from === undefined || compareText(token, from) >= 0) && (to === undefined || compareText(token, to) <= 0)
        const covered = terms.filter(({ text, prefix }) => (prefix ? token.startsWith(text) : token === text)).length
        expect(covered > 0, `${from} to ${to}: ${token}`).to.equal(inRange)
      }
    }
  })

  it('keeps so many files open and no more, but never closes one in use', () => {
    const closed: string[] = []
    const inUse = new Set<string>()
    const files = createOpenFiles(
      2,
      ({ path }) => closed.push(path),
      ({ path }) => inUse.has(path),
    )
    const use = (path: string): void => void files.use(path, () => ({ path, close: () => {} }) as unknown as Database)
    for (const path of ['a', 'b', 'a', 'c']) use(path)
    expect(closed).to.deep.equal(['b'])
    inUse.add('a')
    use('d')
    expect(closed).to.deep.equal(['b', 'c'])
    files.closeAll()
    expect(closed).to.deep.equal(['b', 'c', 'a', 'd'])
  })
})
