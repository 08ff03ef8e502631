import { expect } from 'chai'
import type { Collection, DecodedEvent, Key, Projection } from '#projections/projection.ts'
import { createFoldHarness, foldAll, foldInto, givenEvent } from '#test/support/fold-harness.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'

type Counter = Readonly<{ events: number; first: number; last: number }>
const counters: Collection<Counter> = {
  name: 'counters',
  kind: 'document',
  lookbackDays: 1,
  fields: { events: 'number' },
  searchable: ({ events }) => ({ timeNs: 0n, fields: { events } }),
}
const keyOf = (id: string): Key<Counter> => ({ collection: counters, id })
const countInto = (counter: Counter | undefined, { event }: DecodedEvent): Counter => ({
  events: (counter?.events ?? 0) + 1,
  first: counter?.first ?? event.position,
  last: event.position,
})

/** Counts events under `all`, and under a name that only the document `all` tells. */
const counting: Projection = {
  name: 'counting',
  version: 1,
  handles: ['logs.received'],
  collections: { counters },
  needs: ({ event }, loaded) => [keyOf('all'), keyOf(`since-${loaded.get(keyOf('all'))?.first ?? event.position}`)],
  fold(event, documents) {
    documents.update(keyOf('all'), (counter) => countInto(counter, event))
    const first = documents.get(keyOf('all'))?.first ?? 0
    documents.update(keyOf(`since-${first}`), (counter) => countInto(counter, event))
  },
}

const dayMs = 86_400_000
const noon = Date.UTC(2026, 10, 21, 12)

describe('folding', () => {
  it('gives the same index however often and in whatever cuts events are folded', async () => {
    const { fold, documents } = createFoldHarness(counting)
    const store = await fold([1, 2, 3, 4, 5].map((n) => givenEvent('logs.received', n)))
    expect(documents<Counter>(store, 'counters').get('all')).to.deep.equal({ events: 5, first: 4096, last: 20480 })
    expect(documents<Counter>(store, 'counters').get('since-4096')?.events).to.equal(5)
  })

  it('hands a fold only events of the types it handles', async () => {
    const { fold, documents } = createFoldHarness(counting)
    const store = await fold([givenEvent('spans.received', 1), givenEvent('logs.received', 2)])
    expect(documents<Counter>(store, 'counters').get('all')?.events).to.equal(1)
  })

  it('leaves out an identified event that comes again within 24 hours of receipt, and only that', async () => {
    const { fold, documents } = createFoldHarness(counting)
    const id = 'acme.logs.0123'
    const at = (n: number, ms: number): DecodedEvent =>
      givenEvent('logs.received', n, {}, { id, receivedAt: noon + ms })
    const within = await fold([at(1, 0), at(2, 3_600_000), at(3, dayMs - 1)])
    expect(documents<Counter>(within, 'counters').get('all')?.events).to.equal(1)
    const beyond = await fold([at(1, 0), at(2, 1), at(3, dayMs), at(4, dayMs + 1)])
    expect(documents<Counter>(beyond, 'counters').get('all')?.events).to.equal(2)
  })

  it('takes equal ids of events without identity as different', async () => {
    const { fold, documents } = createFoldHarness(counting)
    const again = [1, 2].map((n) => givenEvent('logs.received', n, {}, { id: 'acme.logs.77', identified: false }))
    expect(documents<Counter>(await fold(again), 'counters').get('all')?.events).to.equal(2)
  })

  it('finds a document on earlier days of receipt within the look-back, and begins another after it', async () => {
    const { fold } = createFoldHarness(counting)
    const days = [0, 1, 3].map((day, index) =>
      givenEvent('logs.received', index + 1, {}, { receivedAt: noon + day * dayMs }),
    )
    const store = await fold(days)
    const all = store.dump('counting-v1-001').filter(({ entry }) => entry.id === 'all')
    expect(all.map(({ entry }) => [entry.day, (entry.document as Counter).events])).to.deep.equal([
      ['2026-11-21', 2],
      ['2026-11-24', 1],
    ])
  })

  it('is not led astray in a replay by a document that a later event made on an earlier day', async () => {
    const events = [
      givenEvent('logs.received', 1, {}, { receivedAt: noon }),
      givenEvent('logs.received', 2, {}, { receivedAt: noon - dayMs }),
    ]
    const expected = (await foldAll(counting, events)).dump('counting-v1-001')
    const store = createMemoryIndexStore()
    // A power cut may lose one day's file and keep the other's: here only the earlier day, written later, is left.
    const kept = expected.filter(({ entry }) => entry.day === '2026-11-20')
    await foldInto(store.writer, 'counting-v1-001', counting, [])
    for (const { entry } of kept) {
      const workspaceId = events[0]!.event.workspaceId
      await store.writer.write('counting-v1-001', [{ workspaceId, entries: [entry] }], {
        epoch: 'epoch-1',
        position: 1,
      })
    }
    await foldInto(store.writer, 'counting-v1-001', counting, [events])
    expect(store.dump('counting-v1-001')).to.deep.equal(expected)
  })

  it('refuses a fold that asks for a document which its needs do not name', async () => {
    const careless: Projection = { ...counting, needs: () => [] }
    const failure = await foldAll(careless, [givenEvent('logs.received', 1)]).catch((error: unknown) => error)
    expect(String(failure)).to.match(/needs\(\) of the fold did not name counters all/)
  })
})
