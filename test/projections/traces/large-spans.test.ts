import { expect } from 'chai'
import { searchTraces } from '#projections/traces/query.ts'
import { describeOnEveryStore } from './every-store.ts'
import type { GivenSpan } from './given.ts'
import { acme, readerOf, received, spansOf, walk } from './walked.ts'

describeOnEveryStore('traces: spans of a megabyte', (newStore) => {
  const attributes = { sql: 'select '.repeat(140_000) }
  const count = 10
  /** Two spans each, of which a search that looks at 8 MiB at once meets a few. */
  const given = (name: string, number: number): GivenSpan[] =>
    spansOf(name, [
      { id: 'a', atMs: number * 10, name: 'wanted', attributes },
      { id: 'b', atMs: number * 10 + 5, name: 'wanted', attributes },
    ])
  const names = Array.from({ length: count }, (_, number) => `large ${number}`)

  for (const order of ['oldest', 'newest', 'longest'] as const) {
    it(`are all found, each trace once, ${order} first`, async () => {
      const reader = await readerOf(newStore, [received(1, names.flatMap(given))])
      const found = await walk(reader, { operation: 'wanted', order }, 4)
      if (order === 'longest') expect(found.sort()).to.deep.equal([...names].sort())
      else expect(found).to.deep.equal(order === 'oldest' ? names : [...names].reverse())
      const { traces } = await searchTraces(reader, acme, { operation: 'wanted', order, limit: 3 })
      expect(traces.map((trace) => trace.matched_spans.length)).to.deep.equal([2, 2, 2])
    })
  }
})
