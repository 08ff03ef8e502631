/** A number for each of many rowids: a hash table of 24 to 48 bytes a row. In a `Map` each rowid would be an object. */
export type RowNumbers = Readonly<{
  /** `high`, `low`: the halves of the rowid, each as a signed number of 32 bits. `number`: 32 bits, not 0. */
  set(high: number, low: number, number: number): void
  /** 0: none. */
  get(high: number, low: number): number
}>

/** The halves of a rowid, each as a signed number of 32 bits. */
export const highOf = (row: bigint): number => Number(BigInt.asIntN(32, row >> 32n))
export const lowOf = (row: bigint): number => Number(BigInt.asIntN(32, row))

/** MurmurHash3's finalizer, of both halves: rowids of a day have their upper bits in common, and the lower ones are counted up. */
function mixed(high: number, low: number): number {
  const once = Math.imul(low ^ Math.imul(high, 0x9e37_79b1), 0x85eb_ca6b)
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2_ae35)
  return twice ^ (twice >>> 16)
}

/** For at most so many rows. */
export function createRowNumbers(rowsMax: number): RowNumbers {
  // A power of two, at most half full.
  const slots = 2 ** Math.ceil(Math.log2(Math.max(1, rowsMax) * 2))
  const [highs, lows, numbers] = [new Int32Array(slots), new Int32Array(slots), new Int32Array(slots)]
  const last = slots - 1
  return {
    set(high, low, number) {
      let slot = mixed(high, low) & last
      while (numbers[slot] !== 0 && (highs[slot] !== high || lows[slot] !== low)) slot = (slot + 1) & last
      highs[slot] = high
      lows[slot] = low
      numbers[slot] = number
    },
    get(high, low) {
      let slot = mixed(high, low) & last
      while (numbers[slot] !== 0 && (highs[slot] !== high || lows[slot] !== low)) slot = (slot + 1) & last
      return numbers[slot] ?? 0
    },
  }
}
