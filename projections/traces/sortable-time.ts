import { clampInt64, int64Min } from '#src/lib/int64.ts'

/**
 * 16 hex digits in the order of times; record ids begin with the same form. Times beyond int64 (after the year 2262) are clamped, because engines
 * order by int64. Documents keep the exact value.
 */
export function sortableTime(timeNs: bigint): string {
  return BigInt.asUintN(64, clampInt64(timeNs) - int64Min)
    .toString(16)
    .padStart(16, '0')
}

export const timeOfSortable = (text: string): bigint => BigInt(`0x${text}`) + int64Min
