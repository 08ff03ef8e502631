import { expect } from 'chai'
import { compareParts } from '#projections/builds/compare.ts'
import type { Horizon } from '#projections/builds/horizon.ts'
import type { Digest, FrozenPart } from '#projections/index-audit.ts'
import { acme, day, lineEntry } from '#test/support/index-fixture.ts'

const missing = 200_000
const none: FrozenPart = {
  position: 1,
  exact: false,
  digests: async () => [],
  async *entries() {},
  entry: async () => undefined,
  async *fingerprints() {},
  fingerprint: async () => undefined,
  async *searchItems() {},
  async *entriesOf() {},
  countsOf: async () => [],
  stored: async () => undefined,
  release: async () => {},
}
const digest: Digest = { collection: 'lines', entries: missing, content: 'all of them', search: '' }
const all: FrozenPart = {
  ...none,
  digests: async () => [digest],
  entry: async () => lineEntry({}, 1),
  async *fingerprints() {
    for (let n = 0; n < missing; n++) yield { id: String(n).padStart(6, '0'), hash: 'a', position: 1 }
  },
}
const horizon: Horizon = {
  isSeen: () => true,
  isTold: () => true,
  isUnsure: async () => false,
  comparedFrom: undefined,
}

describe('a part that is compared', () => {
  it('may lack very many records', async () => {
    const sides = { part: { workspaceId: acme, day }, indexed: none, expected: all, horizon }
    expect((await compareParts(sides, 5)).later).to.have.length(missing)
  })

  it('differs where its entries are the same and a term leads to them otherwise, or a count is another', async () => {
    /** Of one term, or, without places, of one count. */
    const searched = (value: string, places?: string): FrozenPart => ({
      ...none,
      digests: async () => [{ collection: 'lines', entries: 1, content: 'the same', search: value }],
      async *searchItems() {
        yield { name: 'item', value }
      },
      async *entriesOf() {
        for (const [n, place] of (places ?? '').split('').entries()) yield { name: `line ${n}`, value: place }
      },
    })
    const found = async (indexed: FrozenPart, expected: FrozenPart) => {
      const { different, differences } = await compareParts(
        { part: { workspaceId: acme, day }, indexed, expected, horizon },
        5,
      )
      return [
        different,
        differences.map(({ id, indexed: is, expected: should }) => [id, is?.['item'], should?.['item']]),
      ]
    }
    expect(await found(searched('a', '12'), searched('a', '12'))).to.deep.equal([0, []])
    expect(await found(searched('a', '12'), searched('b', '13'))).to.deep.equal([1, [['line 1', '2', '3']]])
    expect(await found(searched('a', '1'), searched('b', '12'))).to.deep.equal([1, [['line 1', undefined, '2']]])
    expect(await found(searched('7'), searched('8'))).to.deep.equal([1, [['', '7', '8']]])
  })

  describe('with an entry that cannot be judged', () => {
    type Counted = Readonly<{ name: string; value: string }>
    /** One trace that differs between the two sides. `counts`: what it adds to counts; `items`: of the collections. */
    const side = (hash: string, counts: readonly Counted[], items: Readonly<Record<string, readonly Counted[]>>) => ({
      ...none,
      digests: async () =>
        ['traces', 'spans'].map((collection) => {
          const content = collection === 'traces' ? hash : 'the same'
          return { collection, entries: 1, content, search: JSON.stringify(items[collection] ?? []) }
        }),
      async *fingerprints(collection: string) {
        if (collection === 'traces') yield { id: 'continued', hash, position: 1 }
      },
      countsOf: async () => counts,
      async *searchItems(collection: string) {
        yield* items[collection] ?? []
      },
    })
    const found = async (indexed: FrozenPart, expected: FrozenPart) => {
      const unsure: Horizon = { ...horizon, isUnsure: async (_workspaceId, collection) => collection === 'traces' }
      const sides = { part: { workspaceId: acme, day }, indexed, expected, horizon: unsure }
      const { different, differences } = await compareParts(sides, 5)
      return [different, differences.map((one) => `${one.collection} ${one.kind === 'search' ? one.item : one.id}`)]
    }
    const item = (name: string, value = '7'): Counted => ({ name, value })

    it('differs where a count of another collection is another, or anything is damaged', async () => {
      for (const [collection, name] of [
        ['spans', 'count 60 1 2 kept'],
        ['spans', 'minute service 1 shop'],
        ['spans', 'damage of r_spans'],
        ['traces', 'damage of r_traces'],
      ] as const) {
        const [damaged, right] = [side('a', [], { [collection]: [item(name)] }), side('b', [], {})]
        expect(await found(damaged, right)).to.deep.equal([1, [`${collection} ${name}`]])
      }
    })

    it('is equal where counts are others by this entry alone', async () => {
      const [once, twice] = [
        [item('minute has 1 logs', '1')],
        [item('minute has 1 logs', '1'), item('minute has 2 rum', '2')],
      ]
      const others = [item('minute has 1 error', '4')]
      const indexed = side('a', once, { traces: [...others, item('minute has 1 logs', '5')] })
      const expected = side('b', twice, {
        traces: [...others, item('minute has 1 logs', '5'), item('minute has 2 rum', '2')],
      })
      expect(await found(indexed, expected)).to.deep.equal([0, []])
      const more = side('b', twice, {
        traces: [...others, item('minute has 1 logs', '6'), item('minute has 2 rum', '2')],
      })
      expect(await found(indexed, more)).to.deep.equal([1, ['traces minute has 1 logs']])
      const none = side('b', twice, { traces: [item('minute has 1 logs', '5'), item('minute has 2 rum', '2')] })
      expect(await found(indexed, none)).to.deep.equal([1, ['traces minute has 1 error']])
    })
  })
})
