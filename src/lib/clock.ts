/** Time as it is passed in, so that a simulation can drive it. Milliseconds since the Unix epoch. */
export type Clock = () => number

/**
 * Milliseconds since some moment, which go on evenly whatever is done to the system's clock: for rates, which would stand still for an
 * hour when that is set back by one.
 */
export type Ticks = () => number
export const systemTicks: Ticks = () => performance.now()

/** Wall time that never goes back within a process, even when the system's clock is set back. */
export function createClock(wall: () => number = Date.now): Clock {
  let last = 0
  return () => (last = Math.max(last, wall()))
}
