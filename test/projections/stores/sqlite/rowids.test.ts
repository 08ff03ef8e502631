import { expect } from 'chai'
import { DatabaseSync } from 'node:sqlite'
import type { Filter, IndexReader, IndexWriter } from '#projections/index-store.ts'
import type { Entry } from '#projections/projection.ts'
import {
  firstRow,
  firstRowOf,
  lastRow,
  msOf,
  unknownValueIds,
  valueIdMax,
} from '#projections/stores/sqlite/rowid-parts.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { int64Max, int64Min } from '#src/lib/int64.ts'
import {
  everything,
  lineEntry,
  noonNs,
  openOracle,
  scopeOf,
  thingEntry,
  walk,
  write,
} from '#test/support/index-fixture.ts'
import { createRandom } from '#test/support/random.ts'
import { limits, openSqliteFixture, type SqliteFixture } from '#test/support/sqlite-fixture.ts'

const secondNs = 1_000_000_000n
const level = (value: string): Filter => ({ kind: 'keyword', field: 'level', values: [value] })
const paid: Filter = { kind: 'phrase', fields: ['message'], tokens: ['paid'] }
const asked: readonly Filter[] = [
  everything,
  paid,
  level('info'),
  { kind: 'and', of: [paid, { kind: 'not', of: level('warn') }] },
  { kind: 'not', of: paid },
]

describe('rowids of SQLite that tell values', () => {
  let given: SqliteFixture
  let writer: IndexWriter
  let reader: IndexReader

  beforeEach(async () => {
    given = await openSqliteFixture()
    writer = given.writer
    reader = createSqliteIndexReader({ folder: given.folder, limits })
  })
  afterEach(async () => {
    await reader.close()
    await writer.close()
    given.remove()
  })

  function inFile<T>(task: (database: DatabaseSync) => T): T {
    const database = new DatabaseSync(given.dayFile())
    try {
      return task(database)
    } finally {
      database.close()
    }
  }
  const idsGiven = () =>
    inFile((database) =>
      database
        .prepare('SELECT vals FROM x_lines ORDER BY id')
        .all()
        .map(({ vals }) => String(vals)),
    )
  const untold = () =>
    inFile((database) => database.prepare(`SELECT count(*) AS n FROM r_lines WHERE row >> 8 & 4095 < 256`).get()?.['n'])

  /** What is counted of the lines, as a store without rowids counts it. */
  async function expectCounts(...batches: readonly (readonly Entry[])[]): Promise<void> {
    const oracle = await openOracle()
    let position = 0
    for (const entries of batches) {
      position = entries.at(-1)?.position ?? position
      await write(oracle.writer, entries, position)
    }
    const fields = ['level', 'service']
    for (const filter of asked) {
      for (const range of [{}, { fromNs: noonNs + 2n * secondNs, toNs: noonNs + 70n * secondNs + 1n }]) {
        const selection = { filter, ...range }
        const ask = (of: IndexReader) =>
          Promise.all([
            of.count(scopeOf('lines'), selection),
            of.histogram(scopeOf('lines'), selection, secondNs, 'service'),
            of.histogram(scopeOf('lines'), selection, 60n * secondNs, 'level'),
            of.facets(scopeOf('lines'), selection, fields, 99),
          ])
        expect(await ask(reader)).to.deep.equal(await ask(oracle.reader))
      }
    }
  }

  it('have more of one millisecond and the same values than an id has room for', async () => {
    const entries = Array.from({ length: 1_300 }, (_, n) =>
      lineEntry(
        { timeNs: noonNs + BigInt(n % 7), level: n < 1_200 ? 'info' : 'warn', text: n % 3 === 0 ? 'paid' : '' },
        n + 1,
      ),
    )
    await write(writer, entries, 1_300)
    const late = [lineEntry({ timeNs: noonNs + 3n, level: 'info', text: 'paid' }, 1_301)]
    await write(writer, late, 1_301)
    expect(idsGiven().toSorted()).to.deep.equal([...Array<string>(5).fill('["info",null]'), '["warn",null]'])
    await expectCounts(entries, late)
    const hits = await walk(reader, 'lines', { orderBy: 'timeNs', direction: 'asc', limit: 500 })
    expect(hits.map(({ id }) => id)).to.deep.equal([...entries, ...late].map(({ id }) => id).toSorted())
  })

  it('leave values to the rows where these are long, or a file has too many of them', async () => {
    const random = createRandom(7)
    const linesOf = (first: number, count: number): readonly Entry[] =>
      Array.from({ length: count }, (_, n) => {
        const long = random.chance(0.3) ? ['x'.repeat(random.pick([980, 8_000, 8_001]))] : [`s${random.below(9)}`]
        const timeNs = noonNs + BigInt(random.below(90)) * secondNs
        const line = {
          timeNs,
          level: random.pick(['info', 'warn', null]),
          text: random.pick(['paid', 'sent']),
          service: long,
        }
        return lineEntry(line, first + n)
      })
    const before1970 = lineEntry({ timeNs: -30n * secondNs, level: 'info', service: ['x'.repeat(2_000)] }, 1)
    const first = [before1970, ...linesOf(2, 39)]
    await write(writer, first, 40)
    expect(untold()).to.be.within(1, 39)
    inFile((database) => database.exec(`INSERT INTO x_lines (id, vals) VALUES (${valueIdMax - 3}, '["last"]')`))
    const second = linesOf(41, 200)
    await write(writer, second, 240)
    expect(untold()).to.be.within(40, 239)
    await expectCounts(first, second)
  })

  it('leave values to the rows where all times beyond share a millisecond, and where many have none', async () => {
    const far = Array.from({ length: 6 }, (_, n) => {
      const inwards = BigInt(n) * 60n * secondNs
      return lineEntry({ timeNs: n < 3 ? int64Max - inwards : int64Min + inwards, level: 'info', text: 'paid' }, n + 1)
    })
    const long = ['x'.repeat(2_000)]
    const many = Array.from({ length: 600 }, (_, n) => lineEntry({ level: 'warn', service: long, text: 'paid' }, n + 7))
    await write(writer, [...far, ...many], 606)
    expect(untold()).to.equal(606)
    expect(inFile((database) => database.prepare('SELECT max(spilled) AS n FROM collections').get()?.['n'])).to.equal(0)
    await expectCounts([...far, ...many])
  })

  it('leave values to the rows in a part of a minute too', async () => {
    const at = (seconds: number): bigint => noonNs + BigInt(seconds) * secondNs
    const entries = [
      lineEntry({ timeNs: at(61), level: 'info' }, 1),
      lineEntry({ timeNs: at(66), level: 'info', service: ['x'.repeat(2_000)] }, 2),
    ]
    await write(writer, entries, 2)
    for (const [from, to] of [
      [60, 70],
      [65, 70],
      [0, 70],
      [60, 180],
    ] as const) {
      const range = { fromNs: at(from), toNs: at(to) }
      const counted = await reader.count(scopeOf('lines'), { filter: level('info'), ...range })
      expect(counted, `${from} to ${to}`).to.equal(from === 65 ? 1 : 2)
    }
  })

  it('leave values to the rows of more minutes than are counted one by one', async () => {
    const long = ['x'.repeat(2_000)]
    const entries = Array.from({ length: 61 }, (_, n) =>
      lineEntry({ timeNs: noonNs + BigInt(n) * 60n * secondNs, level: 'info', service: long }, n + 1),
    )
    await write(writer, entries, 61)
    await expectCounts(entries)
  })

  it('leave other minutes to the counts that are kept where one has values that are not told', async () => {
    const entries = Array.from({ length: 240 }, (_, n) =>
      lineEntry({ timeNs: noonNs + BigInt(n) * 30n * secondNs, level: n % 2 === 0 ? 'info' : 'warn' }, n + 1),
    )
    const last = lineEntry({ timeNs: noonNs + 7_195n * secondNs, level: 'info', service: ['x'.repeat(2_000)] }, 241)
    await write(writer, [...entries, last], 241)
    await expectCounts([...entries, last])
    const before = noonNs + 7_140n * secondNs
    inFile((database) => database.exec(`DELETE FROM r_lines WHERE time < ${before}`))
    const none: Filter = { kind: 'keyword', field: 'service', values: ['none'] }
    const filter: Filter = { kind: 'not', of: { kind: 'or', of: [level('warn'), none] } }
    const selection = { filter, fromNs: noonNs }
    expect(await reader.count(scopeOf('lines'), selection)).to.equal(121)
    const buckets = await reader.histogram(scopeOf('lines'), selection, 1_800n * secondNs, 'level')
    expect(buckets.map(({ total, by }) => [total, by['info']])).to.deep.equal([30, 30, 30, 31].map((n) => [n, n]))
  })

  it('leave ids to other values where one millisecond has very many rows of the same', async () => {
    const many = Array.from({ length: 4_200 }, (_, n) =>
      lineEntry({ level: 'info', text: n % 9 === 0 ? 'paid' : '' }, n + 1),
    )
    await write(writer, many, 4_200)
    expect([idsGiven().length, untold()]).to.deep.equal([16, 4_200 - 16 * 256])
    const other = [lineEntry({ level: 'warn' }, 4_201)]
    await write(writer, other, 4_201)
    expect([idsGiven().length, untold()]).to.deep.equal([17, 4_200 - 16 * 256])
    await expectCounts(many, other)
  })

  it('are those of the millisecond before where one has no room for values that are not told', async () => {
    const ms = msOf(noonNs)
    const first = [lineEntry({ level: 'info' }, 1), lineEntry({ timeNs: noonNs - 1n, level: 'info' }, 2)]
    await write(writer, first, 2)
    inFile((database) => {
      database.exec(`INSERT INTO x_lines (id, vals) VALUES (${valueIdMax}, '["last"]')`)
      const insert = database.prepare(`INSERT INTO r_lines (row, id, time, position) VALUES (?, 'full', ?, 0)`)
      for (let id = 0; id < unknownValueIds; id++) insert.run(firstRowOf(ms, id + 1) - 1n, noonNs)
    })
    const second = [3, 1, 2].map((ns, n) =>
      lineEntry({ timeNs: noonNs + BigInt(ns), level: 'warn', text: 'paid' }, n + 3),
    )
    await write(writer, second, 5)
    inFile((database) => database.exec(`DELETE FROM r_lines WHERE id = 'full'`))
    await expectCounts(first, second)
    const walked = { orderBy: 'timeNs', direction: 'desc' } as const
    const hits = await walk(reader, 'lines', { ...walked, limit: 2 })
    expect(hits.map(({ timeNs }) => timeNs - noonNs)).to.deep.equal([3n, 2n, 1n, 0n, -1n])
    const fromNoon = await reader.search(scopeOf('lines'), { ...walked, filter: everything, fromNs: noonNs, limit: 9 })
    expect(fromNoon).to.have.length(4)
  })

  it('are those of the next millisecond where the outermost one before 1970 is full', async () => {
    const [ms, earliest] = [msOf(int64Min), { timeNs: int64Min, weight: 1 }]
    await write(writer, [thingEntry('a', earliest, 1)], 1)
    inFile((database) =>
      database.exec(`UPDATE r_things SET row = ${lastRow(ms)}; UPDATE b_things SET row = ${lastRow(ms)}`),
    )
    await write(writer, [thingEntry('b', earliest, 2)], 2)
    const rows = inFile((database) => {
      const all = database.prepare('SELECT row FROM r_things ORDER BY id')
      all.setReadBigInts(true)
      return all.all().map(({ row }) => row)
    })
    expect(rows).to.deep.equal([lastRow(ms), firstRow(ms + 1n)])
    const hits = await walk(reader, 'things', { orderBy: 'timeNs', direction: 'asc', limit: 9 })
    expect(hits.map(({ id, timeNs }) => [id, timeNs])).to.deep.equal(['a', 'b'].map((id) => [id, int64Min]))
  })
})
