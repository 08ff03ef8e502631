/** Numbers that depend on the seed alone, so that a failure can be had again: mulberry32, each in [0, 1). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Choices by them. */
export function createRandom(seed: number) {
  const next = randomNumbers(seed)
  const below = (n: number): number => Math.floor(next() * n)
  return {
    below,
    chance: (p: number): boolean => next() < p,
    pick: <T>(items: readonly T[]): T => items[below(items.length)] as T,
  }
}
export type Random = ReturnType<typeof createRandom>
