import { expect } from 'chai'
import { DatabaseSync } from 'node:sqlite'
import { createSqliteTextReader, type SqliteTextReader } from '#projections/stores/sqlite/reader.ts'
import { everything, lineEntry, scopeOf, write } from '#test/support/index-fixture.ts'
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
