/** What so many hundredths of the values, which are in order, do not exceed: by nearest rank, so that it is one of them. */
export function percentile(sorted: readonly bigint[], hundredths: number): bigint {
  return sorted[Math.max(0, Math.ceil((sorted.length * hundredths) / 100) - 1)] ?? 0n
}

/** For sorting: the shortest first. */
export const byDuration = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
