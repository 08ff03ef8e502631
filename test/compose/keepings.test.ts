import { expect } from 'chai'
import { exportLogs, type LogItem } from '#projections/logs/query.ts'
import { retainedReaders } from '#src/compose/keepings.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { ago, createWorld, free, memoryPlace, sqlitePlace, type Place } from '#test/support/retention-world.ts'

const places: readonly (readonly [string, () => Place | Promise<Place>])[] = [
  ['memory', memoryPlace],
  ['SQLite', sqlitePlace],
]

describe('a reader for a request', () => {
  for (const [name, makePlace] of places) {
    it(`shows the same days throughout, when midnight passes and retention runs meanwhile (${name})`, async () => {
      const place = await makePlace()
      const world = createWorld(place)
      try {
        for (let days = 8; days >= 0; days--) await world.liveOn(ago(days))
        const workspace = { plan: { retentionDays: 7 } } as Workspace
        const readerOf = retainedReaders(() => place.reader, { workspace: () => workspace }, world.clock)
        const matchedBy = async (reader: ReturnType<typeof readerOf>) => exportLogs(reader, free, { order: 'desc' })
        const reader = readerOf(free)
        const { matched, batches } = await matchedBy(reader)
        world.moveTo(`${ago(-1)}T00:10:00Z`)
        await world.retain()
        const items: LogItem[] = []
        for await (const batch of batches) items.push(...batch)
        expect([matched, items.length, items.at(-1)?.timestamp?.slice(0, 10)]).to.deep.equal([8, 8, ago(7)])
        expect((await matchedBy(readerOf(free))).matched, 'for the next request').to.equal(7)
      } finally {
        await world.close()
      }
    })
  }
})
