import { expect } from 'chai'
import { compareParts } from '#projections/compare.ts'
import type { Horizon } from '#projections/horizon.ts'
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
})
