/** Time as it is passed in, so that a simulation can drive it. Milliseconds since the Unix epoch. */
export type Clock = () => number

/**
 * Milliseconds since some moment, which go on evenly whatever is done to the system's clock: for rates, which would stand still for an
 * hour when that is set back by one.
 */
export type Ticks = () => number
export const systemTicks: Ticks = () => performance.now()

/** The most that a clock is waited for: an hour, as of daylight saving time that was applied where it should not be. */
const waitMsMax = 3_600_000

/**
 * Wall time that does not go back within a process when the system's clock is set back: it stands still until that has caught up. A system's
 * clock that is set back by more than an hour was wrong, and its time is left: or the process would date everything by a time to come, and not
 * find what is of now, for as long as the clock was ahead.
 */
export function createClock(wall: () => number = Date.now): Clock {
  let last = 0
  return () => {
    const now = wall()
    last = last - now > waitMsMax ? now : Math.max(last, now)
    return last
  }
}
