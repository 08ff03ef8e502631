import { dayOf } from '../projection.ts'

const dayMs = 86_400_000

/** The UTC day that stands so many days before this one. */
export const dayBefore = (day: string, days: number): string => dayOf(Date.parse(`${day}T00:00:00Z`) - days * dayMs)

/** Days on which an earlier record of an id is looked for: the look-back, and the day after, for clocks that differ. */
export function daysReplaced(day: string, lookbackDays: number): readonly string[] {
  return Array.from({ length: lookbackDays + 2 }, (_, index) => dayBefore(day, index - 1))
}
