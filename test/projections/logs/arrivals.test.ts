import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { exportLogs } from '#projections/logs/query.ts'
import { positionStep } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import { rejection } from '#test/support/read-all.ts'
import { foldInto, givenEvent } from '#test/support/fold-harness.ts'
import { acme, givenLogs, treeOf } from './given.ts'
import { carried, createGrowingLog, messagesOf, numbered, search } from './growing-log.ts'

const build = buildName(logsProjection, 1)

describe('projections/logs: what arrives later', () => {
  it('is followed by arrival, late records and large events too, without a gap or a repeat', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 1_000, 5))
    const first = await search(store, { limit: 3 })
    expect(messagesOf(first.logs)).to.deep.equal(['line 1004', 'line 1003', 'line 1002'])
    const quiet = await search(store, { limit: 3, after: carried(first.prev) })
    expect(quiet.logs).to.deep.equal([])
    await append(numbered(2, 0, 7))
    await append(givenEvent('spans.received', 3))
    await append(numbered(4, 2_000, 2))
    const seen: string[] = []
    let { prev } = quiet
    for (;;) {
      const page = await search(store, { order: 'asc', limit: 4, after: carried(prev) })
      if (page.logs.length === 0) break
      seen.push(...messagesOf(page.logs))
      prev = page.prev
    }
    expect(seen).to.deep.equal([...Array.from({ length: 7 }, (_, index) => `line ${index}`), 'line 2000', 'line 2001'])
    await append(numbered(5, 500, 1))
    expect(messagesOf((await search(store, { after: carried(prev), query: treeOf('500') })).logs)).to.deep.equal([
      'line 500',
    ])
  })

  it('is not shown before the index has all up to there: a half of it would hide the other', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 1_000, 1))
    const { prev } = await search(store)
    // The later of two is found before the earlier, as bulk requests and files of days may be.
    await foldInto(store.writer, build, logsProjection, [[numbered(3, 30, 2)]])
    const early = await search(store, { after: carried(prev) })
    expect(messagesOf(early.logs)).to.deep.equal([])
    await append(numbered(3, 30, 2))
    expect(messagesOf((await search(store, { order: 'asc', after: carried(early.prev) })).logs)).to.deep.equal([
      'line 30',
      'line 31',
    ])
  })

  it('is shown once: by a page of a walk, or by what follows from there', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 0, 6))
    const idsOf = (page: Awaited<ReturnType<typeof search>>): readonly string[] => page.logs.map(({ id }) => id)
    const settled = await search(store)
    // Found already, and the projector has not said so yet.
    await foldInto(store.writer, build, logsProjection, [[numbered(2, 3, 12)]])
    const all = idsOf(await search(store, { limit: 100 }))
    const arrived = all.filter((id) => !idsOf(settled).includes(id)).sort()
    expect(arrived).to.have.length(12)
    const pages = [
      await search(store, { limit: 6 }),
      await search(store, { limit: 6, order: 'asc' }),
      await search(store, { limit: 6, around: settled.logs[2]?.id ?? '', before: 3, afterCount: 2 }),
      await search(store, { limit: 3, after: carried((await search(store, { limit: 2 })).next) }),
    ]
    expect(pages.some((page) => idsOf(page).some((id) => arrived.includes(id)))).to.equal(true)
    await append(numbered(2, 3, 12))
    for (const page of pages) {
      const seen = [...idsOf(page)]
      let { prev } = page
      for (let step = 0; step < 8; step++) {
        const followed = await search(store, { limit: 2, after: carried(prev) })
        expect(followed.logs.length).to.be.at.most(2)
        seen.push(...idsOf(followed))
        prev = followed.prev
      }
      expect(seen.filter((id) => arrived.includes(id)).sort()).to.deep.equal(arrived)
      await search(store, { after: carried(prev) }).then(({ logs }) => expect(logs).to.deep.equal([]))
    }
  })

  it('is shown whole where what was shown before comes after it, however small the pages', async () => {
    for (const limit of [1, 2, 3]) {
      const { store, append } = createGrowingLog()
      await append(numbered(1, 0, 1))
      // Found already, and the projector has not said so yet.
      await foldInto(store.writer, build, logsProjection, [[numbered(4, 1_000, 1)]])
      const page = await search(store, { limit: 1 })
      expect(messagesOf(page.logs)).to.deep.equal(['line 1000'])
      for (const event of [numbered(2, 10, 5), numbered(3, 20, 2), numbered(4, 1_000, 1)]) await append(event)
      const seen: string[] = []
      let { prev } = page
      for (let step = 0; step < 9; step++) {
        const followed = await search(store, { order: 'asc', limit, after: carried(prev) })
        seen.push(...messagesOf(followed.logs))
        prev = followed.prev
      }
      expect(seen).to.deep.equal(['10', '11', '12', '13', '14', '20', '21'].map((number) => `line ${number}`))
    }
  })

  it('is on the page that follows also where what was shown before has its places', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 0, 1))
    await foldInto(store.writer, build, logsProjection, [[numbered(2, 1_000, 3)]])
    const { prev } = await search(store, { limit: 3 })
    for (const event of [numbered(2, 1_000, 3), numbered(3, 20, 2)]) await append(event)
    const followed = await search(store, { order: 'asc', limit: 2, after: carried(prev) })
    expect(messagesOf(followed.logs)).to.deep.equal(['line 20', 'line 21'])
  })

  it('goes on also from a page that shows more of it than a cursor has room for', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 0, 1))
    await foldInto(store.writer, build, logsProjection, [[numbered(2, 3, 40)]])
    const page = await search(store, { order: 'asc', limit: 100 })
    expect(page.logs).to.have.length(41)
    await append(numbered(2, 3, 40))
    const followed = await search(store, { order: 'asc', limit: 100, after: carried(page.prev) })
    expect(messagesOf(followed.logs), 'those without room come again').to.deep.equal(messagesOf(page.logs).slice(31))
  })

  it('is followed anew, from its end, in a log that ends before the place: an older one was put back', async () => {
    const [before, after] = [createGrowingLog(), createGrowingLog()]
    await before.append(numbered(9, 0, 1))
    const { prev } = await search(before.store)
    await after.append(numbered(1, 0, 3))
    const anew = await search(after.store, { after: carried(prev) })
    expect([messagesOf(anew.logs), anew.beginsAnew]).to.deep.equal([[], true])
    await after.append(numbered(2, 10, 1))
    const page = await search(after.store, { after: carried(anew.prev) })
    expect([messagesOf(page.logs), page.beginsAnew]).to.deep.equal([['line 10'], undefined])
  })

  it('is looked through once, also where a search finds nothing of it', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 0, 1))
    const asked: (number | undefined)[] = []
    const reader: IndexReader = {
      ...store.reader,
      search: (scope, query) => {
        asked.push(query.since)
        return store.reader.search(scope, query)
      },
    }
    const query = treeOf('rare')
    let { prev } = await search({ reader }, { query })
    for (const event of [1, 2, 3]) {
      await append(numbered(event * 10, event, 5))
      const page = await search({ reader }, { query, after: carried(prev) })
      prev = page.prev
    }
    expect(asked).to.deep.equal([undefined, 1, 10, 20].map((n) => n && n * positionStep))
    await append(givenLogs(40, [{ message: 'rare' }]))
    expect(messagesOf((await search({ reader }, { query, after: carried(prev) })).logs)).to.deep.equal(['rare'])
  })

  it('does not move the pages of a walk', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 0, 6))
    const first = await search(store, { limit: 3 })
    await append(numbered(2, 100, 5))
    const second = await search(store, { limit: 3, after: carried(first.next) })
    expect([...messagesOf(first.logs), ...messagesOf(second.logs)]).to.deep.equal(
      [5, 4, 3, 2, 1, 0].map((n) => `line ${n}`),
    )
  })

  it('is not in an export that has begun', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 0, 2_500))
    const found = await exportLogs(store.reader, acme, { order: 'asc', query: treeOf('line') })
    expect(found.matched).to.equal(2_500)
    const seen: string[] = []
    let batches = 0
    for await (const items of found.batches) {
      if (batches++ === 0) await append(numbered(2, 0, 100))
      expect(items.length).to.be.at.most(1_000)
      seen.push(...messagesOf(items))
    }
    expect(seen).to.deep.equal(Array.from({ length: 2_500 }, (_, index) => `line ${index}`))
    expect(batches).to.be.greaterThan(3)
    expect((await exportLogs(store.reader, acme, { order: 'desc' })).matched).to.equal(2_600)
  })

  it('does not stand for what is erased while an export runs, which says at its end that it is not whole', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 0, 50))
    const { matched, batches } = await exportLogs(store.reader, acme, { order: 'asc' })
    const seen: string[] = []
    const read = async (): Promise<void> => {
      for await (const items of batches) {
        if (seen.length === 0) await store.writer.eraseWorkspace(build, acme, 2 * positionStep)
        seen.push(...messagesOf(items))
      }
    }
    expect(await rejection(read()))
      .to.be.instanceOf(TransientError)
      .with.property('message')
      .which.includes('of 50 records')
    expect([matched, seen.length]).to.deep.equal([50, 16])
  })
})
