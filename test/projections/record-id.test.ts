import { expect } from 'chai'
import { logsProjection } from '#projections/logs/fold.ts'
import { searchLogs } from '#projections/logs/query.ts'
import { recordId, timeOfRecordId } from '#projections/projection.ts'
import { limits } from '#src/config.ts'
import { acme, givenLogs } from './logs/given.ts'
import { describeOnEveryStore, foldIntoStore } from './traces/every-store.ts'

describe('ids of records', () => {
  it('are in the order of time, and within a request in that of its records, however many it has', () => {
    const times = [-(1n << 63n), -1n, 0n, 1n, (1n << 63n) - 1n]
    const ordinals = [...Array(limits.recordsPerBatchMax + 1_000).keys(), 99_999, 100_000, 9_999_999, 10_000_000]
    const ids = times.flatMap((time) => ordinals.map((ordinal) => recordId(time, 'f'.repeat(32), ordinal)))
    expect([...ids].sort()).to.deep.equal(ids)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(ids.every((id, index) => timeOfRecordId(id) === times[Math.floor(index / ordinals.length)])).to.equal(true)
  })
})

describeOnEveryStore('records of one request and one time', (newStore) => {
  it('are found in the order of the request', async () => {
    const store = newStore()
    const messages = Array.from({ length: 120 }, (_, index) => `line ${index}`)
    await foldIntoStore(store, logsProjection, [
      givenLogs(
        1,
        messages.map((message) => ({ message })),
      ),
    ])
    for (const order of ['asc', 'desc'] as const) {
      const { logs } = await searchLogs(store.reader, acme, { order, limit: 200 })
      const expected = order === 'asc' ? messages : [...messages].reverse()
      expect(logs.map(({ message }) => message)).to.deep.equal(expected)
    }
  })
})
