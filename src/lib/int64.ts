/** The bounds of a signed 64-bit integer, by which engines order times and numbers. */
export const int64Max = (1n << 63n) - 1n
export const int64Min = -(1n << 63n)

/** The value, or the bound that it is beyond. */
export function clamp(value: bigint, min: bigint, max: bigint): bigint {
  if (value < min) return min
  return value > max ? max : value
}

export const clampInt64 = (value: bigint): bigint => clamp(value, int64Min, int64Max)

/** How many whole steps lie below `value`: rounded down, also where it is negative. */
export function stepsBelow(value: bigint, step: bigint): bigint {
  const steps = value / step
  return value < 0n && value % step !== 0n ? steps - 1n : steps
}

/** The multiple of `step` at or below `value`, also for negative values. */
export const floorTo = (value: bigint, step: bigint): bigint => stepsBelow(value, step) * step
