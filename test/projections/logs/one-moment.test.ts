import { expect } from 'chai'
import type { IndexReader } from '#projections/index-store.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { searchLogs } from '#projections/logs/query.ts'
import { describeOnEveryStore, foldIntoStore, type NewStore } from '#test/projections/traces/every-store.ts'
import { acme, givenLogs } from './given.ts'

/** A reader that a record arrives at after each answer, and before the next question. */
function whileRecordsArrive(store: ReturnType<NewStore>): IndexReader {
  const { reader } = store
  let events = 1
  let arrival = Promise.resolve()
  const arrive = async (): Promise<void> => {
    const event = ++events
    await foldIntoStore(store, logsProjection, [givenLogs(event, [{ message: 'later', level: 'info', atMs: event }])])
  }
  const thenArrives = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer
    arrival = arrival.then(arrive)
    await arrival
    return value
  }
  return {
    ...reader,
    progress: (...asked) => thenArrives(reader.progress(...asked)),
    search: (...asked) => thenArrives(reader.search(...asked)),
    count: (...asked) => thenArrives(reader.count(...asked)),
    histogram: (...asked) => thenArrives(reader.histogram(...asked)),
    facets: (...asked) => thenArrives(reader.facets(...asked)),
  }
}

describeOnEveryStore('a page of logs while records arrive', (newStore) => {
  it('has the rows that it counts, and is followed from there', async () => {
    const store = newStore()
    await foldIntoStore(store, logsProjection, [givenLogs(1, [{ message: 'first', level: 'info' }])])
    const reader = whileRecordsArrive(store)
    const asked = { order: 'desc', limit: 100 } as const
    const page = await searchLogs(reader, acme, { ...asked, include: ['histogram', 'facets', 'count'] })
    const { logs, count, histogram, facets, prev } = page
    const rows = logs.length
    expect({
      count,
      drawn: histogram?.buckets.reduce((sum, { total }) => sum + total, 0),
      ofLevel: facets?.find(({ field }) => field === 'level')?.values,
    }).to.deep.equal({ count: rows, drawn: rows, ofLevel: [{ value: 'info', count: rows }] })
    const followed = await searchLogs(store.reader, acme, { ...asked, after: prev })
    expect(logs.length + followed.logs.length).to.equal(await countOf(store.reader))
  })

  it('counts what is not on it too, whenever that came', async () => {
    const store = newStore()
    const [first, last] = [givenLogs(1, [{ message: 'newest', atMs: 9 }]), givenLogs(2, [{ message: 'late', atMs: 1 }])]
    await foldIntoStore(store, logsProjection, [first, last])
    expect(await countOf(store.reader)).to.equal(2)
  })
})

const countOf = async (reader: IndexReader): Promise<number | undefined> =>
  (await searchLogs(reader, acme, { order: 'desc', limit: 1, include: ['count'] })).count
