import { expect } from 'chai'
import { DatabaseSync } from 'node:sqlite'
import type { Filter, Selection } from '#projections/index-store.ts'
import { createSqliteTextReader, type SqliteTextReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import {
  epoch,
  everything,
  fixture,
  index,
  lineEntry,
  scopeOf,
  thingEntry,
  write,
} from '#test/support/index-fixture.ts'
import { limits, openSqliteFixture, type SqliteFixture } from '#test/support/sqlite-fixture.ts'

describe('what is read of SQLite together', () => {
  let given: SqliteFixture
  let reader: SqliteTextReader
  let other: DatabaseSync

  beforeEach(async () => {
    given = await openSqliteFixture()
    const { folder, writer } = given
    await write(writer, [lineEntry({}, 1), lineEntry({}, 2)], 2)
    await writer.close()
    reader = createSqliteTextReader({ folder, limits })
    other = new DatabaseSync(given.dayFile())
  })
  afterEach(async () => {
    await reader.close()
    other.close()
    given.remove()
  })

  /** Of the rows: without a position, counts that are kept would answer. */
  const count = () => reader.count(scopeOf('lines'), { filter: everything, since: 0 })
  const removeOne = () => other.exec('DELETE FROM r_lines WHERE row = (SELECT max(row) FROM r_lines)')
  /** What is asked in one task, which asks everything before it returns. */
  async function together(ask: () => readonly Promise<unknown>[]): Promise<readonly unknown[]> {
    let asked: readonly Promise<unknown>[] = []
    reader.together(() => (asked = ask()))
    return Promise.all(asked)
  }

  it('is of one moment', async () => {
    const counts = await together(() => {
      const before = count()
      removeOne()
      return [before, count()]
    })
    expect(counts).to.deep.equal([2, 2])
    expect(await count()).to.equal(1)
  })

  it('is counted for each range, also where slices of time of another length have the same numbers', async () => {
    const writer = createSqliteIndexWriter({ folder: given.folder, limits })
    await writer.open(index, fixture, epoch)
    const minuteNs = 60_000_000_000n
    const lines = [0n, 5n, 14n, 20n, 40n, 215n, 216n].map((minute, at) =>
      lineEntry({ timeNs: minute * minuteNs }, 3 + at),
    )
    await write(writer, lines, 9)
    await writer.close()
    const between = (from: bigint, to: bigint) =>
      reader.count(scopeOf('lines'), { filter: everything, fromNs: from * minuteNs, toNs: to * minuteNs })
    // The quarter of an hour with the number 14, and the minute.
    const counts = await together(() => [between(210n, 225n), between(14n, 45n), between(0n, 15n), between(0n, 30n)])
    expect(counts).to.deep.equal([2, 3, 3, 4])
  })

  it('is left in peace once it is closed: a thread looks now and then, until it has ended', async () => {
    const closed = createSqliteTextReader({ folder: given.folder, limits })
    expect(await closed.count(scopeOf('lines'), { filter: everything })).to.equal(2)
    await closed.close()
    expect(() => closed.leave()).not.to.throw()
  })

  it('is not older than how far the index was said to be before', async () => {
    const [before, , after] = await together(() => {
      const first = count()
      removeOne()
      return [first, reader.progress('fixture'), count()]
    })
    expect([before, after]).to.deep.equal([2, 1])
  })

  it('is read anew after a question that failed', async () => {
    const [, failure, after] = await together(() => {
      const first = count()
      removeOne()
      // A step of nothing: its buckets cannot be told apart.
      const failed = reader.histogram(scopeOf('lines'), { filter: everything }, 0n, 'level')
      return [first, failed.then(() => 'none', String), count()]
    })
    expect(failure).to.match(/Error/)
    expect(after).to.equal(1)
    expect(await count()).to.equal(1)
  })

  describe('is broken off between any two rows, and read anew for the next question:', () => {
    let many: SqliteFixture
    let looking: SqliteTextReader
    let looks = 0
    let looksMax = Infinity

    before(async () => {
      many = await openSqliteFixture()
      const entries = Array.from({ length: 1_000 }, (_, n) => lineEntry({ text: 'a', size: n }, n + 1))
      await write(many.writer, entries, entries.length)
      await many.writer.close()
      looking = createSqliteTextReader({ folder: many.folder, limits }, () => {
        if (++looks > looksMax) throw new Error('nobody waits')
      })
      expect(await looking.count(scopeOf('lines'), found)).to.equal(1_000)
    })
    after(async () => {
      await looking.close()
      many.remove()
    })

    const sizeFrom = (from: number): Filter => ({ kind: 'number', field: 'size', from })
    const word: Filter = { kind: 'phrase', fields: ['message'], tokens: ['a'] }
    // Without a position, counts that are kept would answer. What finds nothing is one walk.
    const found = { filter: { kind: 'and', of: [word, sizeFrom(0)] }, since: 0 } as const
    const walks: Readonly<Record<string, Selection>> = {
      'of rows': { filter: sizeFrom(1_000), since: 0 },
      'of postings': { filter: { kind: 'and', of: [word, sizeFrom(1_000)] }, since: 0 },
      'of postings that are left out': {
        filter: { kind: 'and', of: [sizeFrom(0), { kind: 'not', of: word }] },
        since: 0,
      },
    }
    const page = { direction: 'desc', limit: 1 } as const
    const questions: Readonly<Record<string, (selection: Selection) => Promise<unknown>>> = {
      'a page': (selection) => looking.search(scopeOf('lines'), { ...selection, ...page, orderBy: 'timeNs' }),
      'a page that is sorted': (selection) =>
        looking.search(scopeOf('lines'), { ...selection, ...page, orderBy: 'size' }),
      'a count': (selection) => looking.count(scopeOf('lines'), selection),
      facets: (selection) => looking.facets(scopeOf('lines'), selection, ['level'], 1),
      'a histogram': (selection) => looking.histogram(scopeOf('lines'), selection, 1_000_000n, 'level'),
    }
    for (const [question, ask] of Object.entries(questions)) {
      for (const [walk, selection] of Object.entries(walks)) {
        it(`${question}, by a walk ${walk}`, async () => {
          looks = 0
          await ask(selection)
          expect(looks).to.be.above(1_000 / 100)
          looksMax = looks - 1
          looks = 0
          expect(await ask(selection).catch(String)).to.equal('Error: nobody waits')
          looksMax = Infinity
          expect(await looking.count(scopeOf('lines'), found)).to.equal(1_000)
        })
      }
    }
  })

  describe('goes on behind a place, and looks at nothing that comes before it:', () => {
    const orders = { lines: ['position', 'asc'], things: ['weight', 'desc'] } as const
    for (const [collection, [orderBy, direction]] of Object.entries(orders)) {
      it(`a page by ${orderBy}`, async () => {
        const many = await openSqliteFixture()
        const entries = Array.from({ length: 1_000 }, (_, n) => [
          lineEntry({}, n + 1),
          thingEntry(`t${n}`, { weight: n }, n + 1),
        ])
        await write(many.writer, entries.flat(), entries.length)
        await many.writer.close()
        let looks = 0
        const looking = createSqliteTextReader({ folder: many.folder, limits }, () => void looks++)
        const query = { filter: everything, orderBy, limit: 3 } as const
        const opposite = direction === 'asc' ? 'desc' : 'asc'
        const [last, , before] = await looking.search(scopeOf(collection), { ...query, direction: opposite })
        looks = 0
        const found = await looking.search(scopeOf(collection), { ...query, direction, after: before?.sort })
        expect(looks).to.be.below(1_000 / 100)
        expect([found.length, found.at(-1)?.id]).to.deep.equal([2, last?.id])
        await looking.close()
        many.remove()
      })
    }
  })

  it('leaves no reading behind when a task fails', async () => {
    const fail = () =>
      reader.together(() => {
        void count()
        throw new Error('a task that failed')
      })
    expect(fail).to.throw('a task that failed')
    removeOne()
    expect(await count()).to.equal(1)
  })
})
