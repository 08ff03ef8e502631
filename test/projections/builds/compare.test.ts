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
})
