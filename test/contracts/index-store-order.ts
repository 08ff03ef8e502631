import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { SortKey } from '#projections/index-store.ts'
import type { Entry } from '#projections/projection.ts'
import { stringifyJson } from '#src/lib/json.ts'
import {
  day,
  everything,
  lineEntry,
  noonNs,
  scopeOf,
  thingEntry,
  walk,
  write,
  type OpenIndexStore,
} from '#test/support/index-fixture.ts'

const previousDay = '2026-11-20'

/** Clauses on order, cursors, times and snapshots. `use` gives the store of the test that runs. */
export function orderClauses(use: () => OpenIndexStore): void {
  describe('order', () => {
    const times = [
      0n,
      1n,
      -1n,
      noonNs,
      noonNs + 1n,
      noonNs + 999_999n,
      (1n << 63n) - 1n,
      -(1n << 63n),
      -(1n << 63n) + 1n,
    ]
    /** Days mixed and several batches, so that no file and no batch holds a run of the order. */
    const spread = async (): Promise<readonly Entry[]> => {
      const entries: Entry[] = []
      for (let position = 1; position <= 60; position++) {
        const timeNs = position % 3 === 0 ? noonNs : (times[position % times.length] ?? 0n)
        const more = { day: position % 2 === 0 ? day : previousDay }
        entries.push(lineEntry({ timeNs, size: position % 7 }, position, more))
        entries.push(thingEntry(`t${position}`, { timeNs, weight: position % 5 }, position, more))
        if (position % 8 === 0) await write(use().writer, entries.slice(-16), position)
      }
      await write(use().writer, entries.slice(-8), 60)
      return entries
    }

    for (const orderBy of ['timeNs', 'position', 'size', 'weight'] as const) {
      for (const direction of ['asc', 'desc'] as const) {
        it(`walks by ${orderBy}, ${direction}, page by page, every id once, ties by id`, async () => {
          const entries = await spread()
          const collection = orderBy === 'weight' ? 'things' : 'lines'
          const all = entries.filter((entry) => entry.collection === collection)
          for (const limit of [1, 7, 100]) {
            const hits = await walk(use().reader, collection, { orderBy, direction, limit })
            expect(new Set(hits.map(({ id }) => id)).size).to.equal(hits.length)
            expect(hits.length).to.equal(all.length)
            const sign = direction === 'asc' ? 1 : -1
            for (const [place, { sort }] of hits.entries()) {
              const next = hits[place + 1]?.sort
              if (next === undefined) continue
              const order = sort.value === next.value ? (sort.id < next.id ? -1 : 1) : sort.value < next.value ? -1 : 1
              expect(order, `${limit}: ${sort.value} ${sort.id}, ${next.value} ${next.id}`).to.equal(-sign)
            }
          }
        })
      }
    }

    it('gives every id that was there once while more arrives', async () => {
      const before = (await spread()).filter(({ collection }) => collection === 'lines').map(({ id }) => id)
      let position = 60
      const hits = await walk(use().reader, 'lines', { orderBy: 'timeNs', direction: 'desc', limit: 5 }, async () => {
        position++
        const timeNs = position % 2 === 0 ? noonNs : noonNs - BigInt(position)
        await write(use().writer, [lineEntry({ timeNs }, position)], position)
      })
      const seen = hits.map(({ id }) => id)
      expect(new Set(seen).size).to.equal(seen.length)
      expect(before.filter((id) => !seen.includes(id))).to.deep.equal([])
    })

    it('shows what is written after a page that ends before all was read', async () => {
      await spread()
      const before = await use().reader.count(scopeOf('lines'), { filter: everything })
      const query = { filter: everything, direction: 'asc', limit: 1 } as const
      for (const orderBy of ['timeNs', 'size']) await use().reader.search(scopeOf('lines'), { ...query, orderBy })
      await write(use().writer, [lineEntry({}, 61)], 61)
      expect(await use().reader.count(scopeOf('lines'), { filter: everything })).to.equal(before + 1)
    })

    it('gives what two days hold at one place once, as it was written last', async () => {
      const entries = [
        thingEntry('a', { weight: 1 }, 1, { day: previousDay }),
        thingEntry('b', { weight: 1, note: 'old' }, 2, { day: previousDay }),
        thingEntry('b', { weight: 1, note: 'new' }, 3),
        // A clock that went back.
        thingEntry('c', { weight: 1, note: 'old' }, 2),
        thingEntry('c', { weight: 1, note: 'new' }, 3, { day: previousDay }),
      ]
      await write(use().writer, entries, 3)
      for (const orderBy of ['timeNs', 'weight']) {
        for (const limit of [1, 2, 10]) {
          const hits = await walk(use().reader, 'things', { orderBy, direction: 'asc', limit })
          const found = hits.map(({ id, document }) => [id, (document as { note: string }).note])
          expect(found, `${orderBy} ${limit}`).to.deep.equal([
            ['a', ''],
            ['b', 'new'],
            ['c', 'new'],
          ])
        }
      }
    })

    it('leaves out documents that lack the number ordered by', async () => {
      const weightless = thingEntry('none', { weight: null }, 1)
      await write(use().writer, [weightless, thingEntry('some', { weight: -3 }, 1)], 1)
      const hits = await walk(use().reader, 'things', { orderBy: 'weight', direction: 'asc', limit: 5 })
      expect(hits.map(({ id }) => id)).to.deep.equal(['some'])
      expect(await walk(use().reader, 'things', { orderBy: 'unknown', direction: 'asc', limit: 5 })).to.deep.equal([])
    })

    it('takes times from inclusive to exclusive, to the nanosecond', async () => {
      const entries = times.map((timeNs, position) => lineEntry({ timeNs }, position + 1))
      await write(use().writer, entries, times.length)
      for (const fromNs of [undefined, ...times]) {
        for (const toNs of [undefined, ...times]) {
          const range = { ...(fromNs === undefined ? {} : { fromNs }), ...(toNs === undefined ? {} : { toNs }) }
          const query = { filter: everything, ...range, orderBy: 'timeNs', direction: 'asc', limit: 50 } as const
          const hits = await use().reader.search(scopeOf('lines'), query)
          const expected = times
            .filter((time) => (fromNs === undefined || time >= fromNs) && (toNs === undefined || time < toNs))
            .sort((a, b) => (a < b ? -1 : 1))
          expect(
            hits.map(({ timeNs }) => timeNs),
            `${fromNs} to ${toNs}`,
          ).to.deep.equal(expected)
          const count = await use().reader.count(scopeOf('lines'), { filter: everything, ...range })
          expect(count, `count ${fromNs} to ${toNs}`).to.equal(expected.length)
        }
      }
    })

    it('goes on from a place outside of the range, whatever it is', async () => {
      const entries = times.map((timeNs, size) => lineEntry({ timeNs, size }, size + 1))
      await write(use().writer, entries, times.length)
      for (const orderBy of ['timeNs', 'size']) {
        for (const far of [1n, 1n << 70n]) {
          for (const [direction, range, value] of [
            ['asc', { fromNs: noonNs }, -far],
            ['desc', { toNs: noonNs }, noonNs + far],
          ] as const) {
            const query = { filter: everything, ...range, orderBy, direction, limit: 50 }
            const all = await use().reader.search(scopeOf('lines'), query)
            const hits = await use().reader.search(scopeOf('lines'), { ...query, after: { value, id: '' } })
            expect([hits.length > 2, hits], `${orderBy} ${direction} ${far}`).to.deep.equal([true, all])
          }
        }
      }
    })

    it('ends where the documents come to more than asked for, after one at least, and says so', async () => {
      await spread()
      for (const orderBy of ['timeNs', 'position'] as const) {
        const query = { filter: everything, orderBy, direction: 'asc', limit: 100 } as const
        const all = await use().reader.search(scopeOf('lines'), query)
        const lengths = all.map(({ document }) => stringifyJson(document).length)
        const enough = lengths.reduce((sum, length) => sum + length, 0)
        const whole = await use().reader.search(scopeOf('lines'), { ...query, charactersMax: enough })
        expect(whole).to.deep.equal(all)
        const ended: string[] = []
        let after: SortKey | undefined
        for (;;) {
          const page = { ...query, charactersMax: (lengths[0] ?? 0) * 5, ...(after === undefined ? {} : { after }) }
          const hits = await use().reader.search(scopeOf('lines'), page)
          expect(hits).to.have.length.within(1, 8)
          ended.push(...hits.map(({ id }) => id))
          expect(hits.slice(0, -1).some(({ endsForSize }) => endsForSize)).to.equal(false)
          if (hits.at(-1)?.endsForSize !== true) break
          after = hits.at(-1)?.sort
        }
        expect(ended).to.deep.equal(all.map(({ id }) => id))
        const [one, ...none] = await use().reader.search(scopeOf('lines'), { ...query, charactersMax: 1 })
        expect([one?.id, one?.endsForSize, none]).to.deep.equal([all[0]?.id, true, []])
      }
    })

    it('reads a snapshot up to a position, and what is new since one', async () => {
      await spread()
      const positions = async (selection: object): Promise<readonly number[]> => {
        const query = { filter: everything, orderBy: 'position', direction: 'asc', limit: 100, ...selection } as const
        return (await use().reader.search(scopeOf('lines'), query)).map(({ position }) => position)
      }
      expect(await positions({ upTo: 3 })).to.deep.equal([1, 2, 3])
      expect(await positions({ since: 58 })).to.deep.equal([59, 60])
      expect(await positions({ since: 5, upTo: 7 })).to.deep.equal([6, 7])
      expect(await use().reader.count(scopeOf('lines'), { filter: everything, upTo: 10 })).to.equal(10)
    })
  })
}
