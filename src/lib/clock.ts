/** Time as it is passed in, so that a simulation can drive it. Milliseconds since the Unix epoch. */
export type Clock = () => number

/**
 * Milliseconds since some moment, unaffected by changes of the system's clock. For rates: with wall time they would stand still for an hour if the
 * clock were set back by one.
 */
export type Ticks = () => number
export const systemTicks: Ticks = () => performance.now()

/** The furthest that a clock may be set back and be waited for: an hour, as when daylight saving time was applied by mistake. */
export const waitMsMax = 3_600_000

/**
 * Wall time that does not go back within a process: when the system's clock is set back, it stands still until the clock has caught up. If that
 * would take more than an hour, the clock was wrong before, and its new time is taken: otherwise the process would date everything in the future,
 * and not find what is dated now, for as long as the clock was ahead.
 */
export function createClock(wall: () => number = Date.now): Clock {
  let last = 0
  return () => {
    const now = wall()
    last = last - now > waitMsMax ? now : Math.max(last, now)
    return last
  }
}
