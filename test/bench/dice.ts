import { randomNumbers } from '#test/support/random.ts'

/** Choices that depend on the seed alone. */
export type Dice = Readonly<{
  /** A whole number from 0 to `max` - 1. */
  below(max: number): number
  between(min: number, max: number): number
  chance(part: number): boolean
  pick<T>(items: readonly T[]): T
}>

export function createDice(seed: number): Dice {
  const random = randomNumbers(seed)
  const below = (max: number): number => Math.floor(random() * max)
  return {
    below,
    between: (min, max) => min + below(max - min + 1),
    chance: (part) => random() < part,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
  }
}

/** The finalizer of MurmurHash3: a bijection on 32 bits, so different numbers stay different. */
function mix(value: number): number {
  let mixed = value >>> 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

function idOf(seed: number, salt: number, number: number, words: number): Buffer {
  const id = Buffer.allocUnsafe(words * 4)
  for (let word = 0; word < words; word++) {
    id.writeUInt32BE(mix(number + mix(Math.imul(seed, 0x9e3779b9) + salt + word)), word * 4)
  }
  return id
}

/** Ids by number: whoever knows a trace's number knows its id, without making its spans. */
export const traceIdOf = (seed: number, number: number): Buffer => idOf(seed, 1, number, 4)
export const spanIdOf = (seed: number, number: number): Buffer => idOf(seed, 5, number, 2)
