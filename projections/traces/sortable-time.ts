const int64Max = (1n << 63n) - 1n
const offset = 1n << 63n

/** Times beyond int64 (after the year 2262) are clamped, because engines order by int64. Documents keep the exact value. */
export const clampTimeNs = (timeNs: bigint): bigint =>
  timeNs > int64Max ? int64Max : timeNs < -offset ? -offset : timeNs

/** 16 hex digits whose text order is the order of times; record ids begin with the same form. */
export function sortableTime(timeNs: bigint): string {
  return BigInt.asUintN(64, clampTimeNs(timeNs) + offset)
    .toString(16)
    .padStart(16, '0')
}

export const timeOfSortable = (text: string): bigint => BigInt(`0x${text}`) - offset
