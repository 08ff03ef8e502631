import { expect } from 'chai'
import { dirname, join } from 'node:path'
import type { IndexWriter } from '#projections/index-store.ts'
import { shapeOf } from '#projections/stores/row.ts'
import { openDatabaseToRead, type Database } from '#projections/stores/sqlite/database.ts'
import { createKnownIds } from '#projections/stores/sqlite/writing/known-ids.ts'
import { tablesOf } from '#projections/stores/sqlite/layout.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { acme, day, epoch, fixture, index, thingEntry, things, write } from '#test/support/index-fixture.ts'
import { limits, openSqliteFixture, timesOpen, type SqliteFixture } from '#test/support/sqlite-fixture.ts'

const dayBefore = '2026-11-20'
const nextDay = '2026-11-22'

describe('the files of earlier days in which a SQLite index looks for a document', () => {
  let given: SqliteFixture
  let writer: IndexWriter

  beforeEach(async () => {
    given = await openSqliteFixture()
    writer = given.writer
    await write(writer, [thingEntry('kept', {}, 1, { day: dayBefore })], 1)
    await write(writer, [thingEntry('today', {}, 2)], 2)
  })
  afterEach(async () => {
    await writer.close()
    given.remove()
  })

  const daysOf = async (id: string): Promise<readonly string[]> => {
    const [found = []] = await writer.load(index, [{ workspaceId: acme, collection: 'things', id, day }])
    return found.map((entry) => entry.day)
  }

  it('are opened once to see which documents they hold, and then only for one of those', async () => {
    const file = join(dirname(given.dayFile()), `${dayBefore}.db`)
    const ask = async (id: string): Promise<unknown> => [await daysOf(id), timesOpen(file) > 0]
    await writer.close()
    writer = createSqliteIndexWriter({ folder: given.folder, limits: { ...limits, indexFilesOpenMax: 1 } })
    await writer.open(index, fixture, epoch)
    expect(await ask('new'), 'to see which').to.deep.equal([[], true])
    expect(await ask('new')).to.deep.equal([[], false])
    expect(await ask('today')).to.deep.equal([[day], false])
    expect(await ask('kept')).to.deep.equal([[dayBefore], true])
    expect(await ask('newer')).to.deep.equal([[], false])
  })

  it('are known to hold what they are given later, as around midnight', async () => {
    expect(await daysOf('late')).to.deep.equal([])
    await write(writer, [thingEntry('late', {}, 3, { day: dayBefore })], 3)
    expect(await daysOf('late')).to.deep.equal([dayBefore])
    await write(writer, [thingEntry('late', {}, 4)], 4)
    expect(await daysOf('late')).to.deep.equal([day, dayBefore])
  })

  it('hold nothing any more after an erasure, and what comes after it', async () => {
    expect(await daysOf('kept')).to.deep.equal([dayBefore])
    await writer.eraseWorkspace(index, acme, 2)
    expect(await daysOf('kept')).to.deep.equal([])
    await write(writer, [thingEntry('after', {}, 3, { day: dayBefore }), thingEntry('x', {}, 3)], 3)
    expect([await daysOf('after'), await daysOf('kept')]).to.deep.equal([[dayBefore], []])
  })

  describe('where not all that they hold can be kept in mind', () => {
    const looked: string[] = []
    const askWithin = (limits: Parameters<typeof createKnownIds>[1]) => {
      const ids = createKnownIds([tablesOf(shapeOf(things))], limits)
      return (path: string, onDay = day): boolean => {
        const database = openDatabaseToRead(given.dayFile())
        const open = (): Database => {
          looked.push(path)
          return database
        }
        try {
          return ids.mayHold({ day: onDay, path, collection: 'things', id: 'new', open })
        } finally {
          database.close()
        }
      }
    }
    beforeEach(() => void looked.splice(0))

    it('are looked through as far as there is room, and again on the next day', () => {
      const ask = askWithin({ bytesMax: 500, idsOfFileMax: 10 })
      expect([ask('a'), ask('b'), looked.join('')]).to.deep.equal([false, false, 'ab'])
      expect([ask('c'), ask('a'), looked.join('')], 'once, all is forgotten').to.deep.equal([false, false, 'abca'])
      expect([ask('b'), ask('b'), ask('c'), looked.join('')]).to.deep.equal([true, true, false, 'abca'])
      expect([ask('b', nextDay), ask('a', nextDay), looked.join('')]).to.deep.equal([true, false, 'abca'])
      expect([ask('d', nextDay), ask('b', nextDay), looked.join('')]).to.deep.equal([false, false, 'abcadb'])
    })

    it('are opened where they hold very many, which is found out once', async () => {
      await write(writer, [thingEntry('second', {}, 3)], 3)
      const ask = askWithin({ bytesMax: 500, idsOfFileMax: 1 })
      expect([ask('a'), ask('a'), looked.join('')]).to.deep.equal([true, true, 'a'])
    })
  })
})
