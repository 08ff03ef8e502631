import { expect } from 'chai'
import { createDocumentCache } from '#projections/folding/documents.ts'
import type { Collection, DecodedEvent, Entry, Key, Projection } from '#projections/projection.ts'
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

  it('may change a document several times for one event', async () => {
    const twice: Projection = {
      ...counting,
      fold(event, documents) {
        for (let time = 0; time < 2; time++) counting.fold(event, documents)
      },
    }
    const { fold, documents } = createFoldHarness(twice)
    const store = await fold([1, 2].map((n) => givenEvent('logs.received', n)))
    expect(documents<Counter>(store, 'counters').get('all')?.events).to.equal(4)
  })

  it('refuses a fold that asks for a document which its needs do not name', async () => {
    const careless: Projection = { ...counting, needs: () => [] }
    const failure = await foldAll(careless, [givenEvent('logs.received', 1)]).catch((error: unknown) => error)
    expect(String(failure)).to.match(/needs\(\) of the fold did not name counters all/)
  })
})

describe('the documents of a lane', () => {
  const limits = { cachedDocumentsMax: 1_000, cachedBytesMax: 10_000 }
  type Cache = ReturnType<typeof createDocumentCache>
  const isKnown = (cache: Cache, event: DecodedEvent, id: string): boolean =>
    cache.missing(event, [keyOf(id)]).length === 0

  function count(cache: Cache, event: DecodedEvent, id: string, stored: readonly Entry[] = []): void {
    const missing = cache.missing(event, [keyOf(id)])
    cache.add(
      missing,
      missing.map(() => stored),
    )
    cache.documents(event).update(keyOf(id), (counter) => countInto(counter, event))
  }

  it('are forgotten by their size, those first that were not used for longest, and only as many as must be', () => {
    const cache = createDocumentCache(limits)
    const events = Array.from({ length: 500 }, (_, n) => givenEvent('logs.received', n + 1))
    const often: Counter[] = []
    for (const [n, event] of events.entries()) {
      for (const id of ['often', `${n}`]) count(cache, event, id)
      const [changes] = cache.takeChanged()
      often.push(changes?.entries[0]?.document as Counter)
      cache.trim()
    }
    const last = givenEvent('logs.received', 501)
    const known = events.flatMap((_, n) => (isKnown(cache, last, `${n}`) ? [n] : []))
    expect(often.at(-1)).to.deep.include({ events: 500 })
    expect(known.length).to.be.within(20, 100)
    expect(known).to.deep.equal(events.map((_, n) => n).slice(-known.length))
  })

  it('are not replaced by what is stored of them, where they are looked for on another day before they are written', () => {
    const cache = createDocumentCache(limits)
    const day = (n: number): DecodedEvent => givenEvent('logs.received', n, {}, { receivedAt: noon + (n - 2) * dayMs })
    const document: Counter = { events: 1, first: 1, last: 1 }
    const stored: Entry = { collection: 'counters', id: 'all', day: '2026-11-21', document, position: 1, created: 1 }
    for (const n of [2, 3]) count(cache, day(n), 'all', [stored])
    const [entry] = cache.takeChanged().flatMap(({ entries }) => entries)
    expect(entry).to.deep.include({ day: '2026-11-21', document: { events: 3, first: 1, last: 3 * 4096 } })
  })
})
