import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { searchTraces } from '#projections/traces/query.ts'
import type { TraceOrder } from '#projections/traces/trace-request.ts'
import { present } from '#src/lib/assert.ts'
import { foldInto } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldIntoStore, type NewStore } from './every-store.ts'
import { received } from './given.ts'
import { acme, daysLater, nameOf, spansOf, walk } from './walked.ts'

type Batch = Parameters<typeof foldInto>[3][number]
type Store = ReturnType<NewStore>

/** Written, and readers are not told yet. */
const write = ({ writer }: Store, events: Batch): Promise<void> =>
  foldInto(writer, buildName(tracesProjection, 1), tracesProjection, [events])

describeOnEveryStore('traces: a walk that begins before readers are told of what was written', (newStore) => {
  const long = (name: string, from: number, to: number) =>
    spansOf(name, [
      { id: 'root', atMs: from },
      { id: 'last', parent: 'root', atMs: to },
    ])
  const begin = async (): Promise<Store> => {
    const store = newStore()
    await foldIntoStore(store, tracesProjection, [received(1, long('before', 1, 2))])
    return store
  }
  const pageOf = async (store: Store, order: TraceOrder) => {
    const { traces, next } = await searchTraces(store.reader, acme, { order, limit: 1 })
    return { names: traces.map(nameOf), after: present(next, 'the next page') }
  }

  it('misses no trace that reaches beyond the one at which a page ends', async () => {
    for (const days of [0, 1, 8]) {
      const store = await begin()
      await write(store, [received(2, [...long('reaching', 10, 20), ...long('short', 15, 16)], daysLater(days))])
      expect(await walk(store.reader, { order: 'newest' }, 1), `${days}`).to.deep.equal(['short', 'reaching', 'before'])
    }
  })

  it('misses none of those that are kept on another day than the last ones', async () => {
    const store = await begin()
    await write(store, [
      received(2, long('reaching', 10, 20)),
      received(3, long('short', 15, 16), daysLater(1)),
      received(4, long('last', 30, 31), daysLater(1)),
    ])
    expect(await walk(store.reader, {}, 1)).to.deep.equal(['last', 'short', 'reaching', 'before'])
  })

  it('lists none twice that moves on from then', async () => {
    for (const days of [0, 1]) {
      const store = await begin()
      await write(store, [received(2, [...long('moving', 30, 40), ...long('short', 15, 16)])])
      const { names, after } = await pageOf(store, 'newest')
      await write(store, [received(3, long('moving', 5, 6), daysLater(days))])
      expect([...names, ...(await walk(store.reader, { after }, 1))], `${days}`).to.deep.equal([
        'moving',
        'short',
        'before',
      ])
    }
  })

  it('goes on from a place that an earlier program has made', async () => {
    const store = await begin()
    await write(store, [received(2, [...long('other', 10, 11), ...long('short', 15, 16)])])
    const { after } = await pageOf(store, 'newest')
    const { value, id, since } = after
    expect(await walk(store.reader, { after: { value, id, since } }, 1)).to.deep.equal(['other', 'before'])
  })
})
