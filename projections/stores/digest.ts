import { createHash, hash } from 'node:crypto'
import type { Digest, FrozenPart } from '../index-audit.ts'

/** A digest over texts. The same text twice counts twice. */
type Digester = Readonly<{ add(text: string): void; value(): string }>

/**
 * A digest that does not depend on the order: sums of the texts' SHA-1, word by word. They have 128 bits, so that different sets practically
 * always have different sums.
 */
export function createDigester(): Digester {
  const sums = new Uint32Array(4)
  return {
    add(text) {
      const bytes = hash('sha1', text, 'buffer')
      for (let word = 0; word < 4; word++) sums[word] = (sums[word] ?? 0) + bytes.readUInt32LE(word * 4)
    },
    value: () => [...sums].map((sum) => sum.toString(16).padStart(8, '0')).join(''),
  }
}

const hashedCharacters = 64 * 1024

/** A digest that depends on the order, for a tenth of the cost: SHA-1 over all texts, each behind its length. */
export function createOrderedDigester(): Digester {
  const sha1 = createHash('sha1')
  let held = ''
  return {
    add(text) {
      held += `${text.length} ${text}`
      if (held.length < hashedCharacters) return
      sha1.update(held)
      held = ''
    },
    value: () => sha1.update(held).digest('hex').slice(0, 32),
  }
}

/** The digests of those collections that hold something. */
export async function digestsOf(
  collections: Iterable<string>,
  digestOf: (collection: string) => Promise<Digest>,
): Promise<readonly Digest[]> {
  const digests: Digest[] = []
  for (const collection of collections) {
    const digest = await digestOf(collection)
    if (digest.entries > 0) digests.push(digest)
  }
  return digests
}

/** For engines that derive everything that searches use from the entries. */
export const noSearchItems: Pick<FrozenPart, 'searchItems' | 'entriesOf' | 'countsOf'> = {
  async *searchItems() {},
  async *entriesOf() {},
  countsOf: async () => [],
}

/** A hash of a stored entry, 128 bits. */
export const fingerprintOf = (text: string): string => hash('sha1', text).slice(0, 32)

/** A hash of an id for its postings: an odd number below 2^31, so that sums stay within SQLite's integers. */
export const shortHashOf = (id: string): number => (Number.parseInt(hash('sha1', id).slice(0, 8), 16) % 0x8000_0000) | 1
