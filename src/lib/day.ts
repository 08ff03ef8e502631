export const dayMs = 86_400_000
/** Remembered, because it is asked for each record, and the records are of a few days. */
const daysKnown = new Map<number, string>()
const daysKnownMax = 1_000

/** UTC day of a millisecond time, `2026-11-21`. The order of days is that of their texts. */
export function dayOf(ms: number): string {
  const number = Math.floor(ms / dayMs)
  const known = daysKnown.get(number)
  if (known !== undefined) return known
  if (daysKnown.size >= daysKnownMax) daysKnown.clear()
  const day = new Date(number * dayMs).toISOString().slice(0, 10)
  daysKnown.set(number, day)
  return day
}

/** The UTC day that stands so many days before this one. */
export const dayBefore = (day: string, days: number): string => dayOf(Date.parse(day) - days * dayMs)
