/** A percentile by nearest rank: one of the values. They must be sorted. */
export function percentile(sorted: readonly bigint[], hundredths: number): bigint {
  return sorted[Math.max(0, Math.ceil((sorted.length * hundredths) / 100) - 1)] ?? 0n
}

/** Compares durations, the shortest first. */
export const byDuration = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
