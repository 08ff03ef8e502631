import { hash } from 'node:crypto'
import type { Digest, FrozenPart } from '../index-audit.ts'

/** A digest over texts that does not depend on their order; the same text twice counts twice. */
type Digester = Readonly<{ add(text: string): void; value(): string }>

/** Sums of the texts' SHA-1, word by word: 128 bits, so that two sets that differ have different sums but for bad luck. */
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

/** A part of an engine that keeps nothing for searches that it could disagree with. */
export const noSearchItems: Pick<FrozenPart, 'searchItems' | 'entriesOf'> = {
  async *searchItems() {},
  async *entriesOf() {},
}

/** What tells two stored entries apart: 128 bits of a hash. */
export const fingerprintOf = (text: string): string => hash('sha1', text).slice(0, 32)

/** An odd number below 2^31 for an id: what its postings are told apart by, within SQLite's integers. */
export const shortHashOf = (id: string): number => (Number.parseInt(hash('sha1', id).slice(0, 8), 16) % 0x8000_0000) | 1
