/** Chance that depends on its seed alone (mulberry32), for tests over many made-up inputs. */
type Chance = Readonly<{
  /** An integer from 0 to below `bound`. */
  below(bound: number): number
  pick<T>(items: readonly T[]): T
  /** A copy with up to `most` bytes changed, put in, or taken out; sometimes cut short. */
  mutate(bytes: Uint8Array, alphabet: Uint8Array, most: number): Buffer
}>

export function createChance(seed: number): Chance {
  let state = seed
  const below = (bound: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
  const mutate = (bytes: Uint8Array, alphabet: Uint8Array, most: number): Buffer => {
    let result = Buffer.from(bytes)
    for (let change = below(most) + 1; change > 0; change--) {
      const at = below(result.length + 1)
      const byte = below(3) === 0 ? below(256) : (alphabet[below(alphabet.length)] ?? 0)
      const kind = below(10)
      const skipped = kind < 5 ? 1 : kind < 7 ? 0 : 1 + below(4)
      const put = kind < 7 ? [byte] : []
      result =
        kind === 9
          ? result.subarray(0, at)
          : Buffer.concat([result.subarray(0, at), Buffer.from(put), result.subarray(at + skipped)])
    }
    return result
  }
  return { below, pick: (items) => items[below(items.length)] as (typeof items)[number], mutate }
}
