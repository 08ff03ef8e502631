import { expect } from 'chai'
import { logsProjection } from '#projections/logs/fold.ts'
import { exportLogs, searchLogs, type LogPage } from '#projections/logs/query.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { stringifyJson, type Json } from '#src/lib/json.ts'
import { createFoldHarness } from '#test/support/fold-harness.ts'
import { withSteppingClock } from '#test/support/stepping-clock.ts'
import { acme, givenLogs } from './given.ts'
import { carried } from './growing-log.ts'

const harness = createFoldHarness(logsProjection)

describe('projections/logs: records of megabytes', () => {
  /** One word: what it takes is its size, not what is found by it. */
  const text = `large ${'.'.repeat(900_000)}`
  const count = 24
  let store: MemoryIndexStore

  before(async () => {
    const records = Array.from({ length: count }, (_, index) => ({ message: `${index} ${text}`, atMs: index }))
    store = await harness.fold([givenLogs(1, records)])
  })

  it('come in pages of some megabytes, whatever the limit, and all of them, once', async () => {
    for (const order of ['asc', 'desc'] as const) {
      const numbers: number[] = []
      let after: Json | undefined
      do {
        const page: LogPage = await searchLogs(store.reader, acme, {
          order,
          limit: 1_000,
          ...(after === undefined ? {} : { after }),
        })
        expect(stringifyJson(page.logs).length).to.be.below(10 * 1024 * 1024)
        numbers.push(...page.logs.map(({ message }) => Number.parseInt(message, 10)))
        after = page.next === null ? undefined : carried(page.next)
      } while (after !== undefined)
      const all = Array.from({ length: count }, (_, index) => index)
      expect(numbers).to.deep.equal(order === 'asc' ? all : all.reverse())
    }
  })

  it('keep nobody waiting while a page of them is made', async () => {
    let turns = 0
    let counting = true
    const count = (): void => {
      turns++
      if (counting) setImmediate(count)
    }
    // A record takes all of a turn's time.
    await withSteppingClock(1_000, async () => {
      setImmediate(count)
      await searchLogs(store.reader, acme, { order: 'asc', limit: 1_000, query: { kind: 'text', text: 'large' } })
    }).finally(() => (counting = false))
    expect(turns).to.be.at.least(2)
  })

  it('are followed by arrival, all of them, once', async () => {
    const numbers: number[] = []
    let { prev } = await searchLogs(createMemoryIndexStore().reader, acme, { order: 'asc', limit: 1 })
    for (let page = 0; page < count; page++) {
      const found = await searchLogs(store.reader, acme, { order: 'asc', limit: 1_000, after: carried(prev) })
      if (found.logs.length === 0) break
      numbers.push(...found.logs.map(({ message }) => Number.parseInt(message, 10)))
      prev = found.prev
    }
    expect(numbers).to.deep.equal(Array.from({ length: count }, (_, index) => index))
  })

  it('are exported in batches of some megabytes, also behind many small ones', async () => {
    const small = Array.from({ length: 2_000 }, (_, index) => ({ message: 'small', atMs: index - 10_000 }))
    const large = Array.from({ length: count }, (_, index) => ({ message: text, atMs: index }))
    const mixed = await harness.fold([givenLogs(1, small), givenLogs(2, large)])
    const { matched, batches } = await exportLogs(mixed.reader, acme, { order: 'asc' })
    let exported = 0
    for await (const batch of batches) {
      exported += batch.length
      expect(stringifyJson(batch).length).to.be.below(10 * 1024 * 1024)
    }
    expect([matched, exported]).to.deep.equal([2_000 + count, 2_000 + count])
  })
})
