import { expect } from 'chai'
import type { SortKey } from '#projections/index-store.ts'
import { searchTraces } from '#projections/traces/query.ts'
import { createSpanSearch } from '#projections/traces/span-search.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { measuredReader } from '#test/support/measured-reader.ts'
import { describeOnEveryStore } from './every-store.ts'
import { received, type GivenSpan } from './given.ts'
import { acme, readerOf, spansOf, walk } from './walked.ts'

describeOnEveryStore('traces: spans of a megabyte', (newStore) => {
  /** Without a word in it: what it takes is its size, not what is found by it. */
  const attributes = { sql: '.'.repeat(980_000) }
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

  it('hide no matching span of another trace that stands behind them', async () => {
    const large = Array.from({ length: 10 }, (_, id) => ({ id, atMs: 10 + id, name: 'wanted', attributes }))
    const reader = await readerOf(newStore, [
      received(1, [...spansOf('large', large), ...spansOf('small', [{ id: 'a', name: 'wanted', forMs: 1 }])]),
    ])
    const { traces } = await searchTraces(reader, acme, { operation: 'wanted', order: 'longest', limit: 2 })
    expect(traces.map((trace) => trace.matched_spans.length)).to.deep.equal([3, 1])
  })

  it('are passed by what lists show of them alone: a walk may pass very many', async () => {
    const named = names.map((name, number) => ({ ...given(name, number)[0], name: name.padEnd(1_000_000, '.') }))
    const reader = await readerOf(newStore, [received(1, named as GivenSpan[])])
    const spans = createSpanSearch(reader, acme, { kind: 'all' }, {})
    let after: SortKey | undefined
    for (let met = 0; met < count;) {
      const { found, last } = await spans.nextTraces([], { limit: 100, direction: 'asc', after })
      expect(Math.max(...found.map(({ spans: shown }) => stringifyJson(shown).length))).to.be.below(2_000)
      met += found.length
      after = last
    }
  })

  it('belong to resources of a megabyte, of which a few are held at once', async () => {
    const sets = names.map((name, pod) => ({
      ...given(name, pod)[0],
      resource: { pod: `pod-${pod}`, env: 'prod', ...attributes },
    }))
    const { reader, most } = measuredReader(await readerOf(newStore, [received(1, sets as GivenSpan[])]))
    const found = await walk(reader, { query: { kind: 'match', field: 'env', text: 'prod' }, order: 'oldest' })
    expect(found).to.deep.equal(names)
    expect(most.characters).to.be.below(9 * 1024 * 1024)
  })
})
