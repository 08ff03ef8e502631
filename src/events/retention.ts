import { dayBefore, dayOf } from '#src/lib/day.ts'

/** A plan the workspace had, and until when (ms). */
export type PastPlan = Readonly<{ retentionDays: number; until: number }>
/** How many days of receipt a workspace's records are kept: by its plan, and by its earlier plans. */
export type Keeping = Readonly<{ retentionDays: number; formerPlans?: readonly PastPlan[] }>

/**
 * The first UTC day of receipt whose records are kept: so many days before today. What an earlier plan had dropped by its end stays dropped
 * under a plan that keeps more. `daysMin`: kept at least this long, whatever the plan.
 */
export function firstDayKept({ retentionDays, formerPlans = [] }: Keeping, now: number, daysMin = 0): string {
  const firstAt = (days: number, at: number): string => dayBefore(dayOf(at), Math.max(days, daysMin))
  return formerPlans
    .map((plan) => firstAt(plan.retentionDays, plan.until))
    .reduce((first, day) => (day > first ? day : first), firstAt(retentionDays, now))
}

/** The retention class of what is received under a plan: `30d`. */
export const retentionClassOf = (retentionDays: number): string => `${retentionDays}d`

/** The days of a retention class; 0 for classes of no plan (`allowance`, `deadletter`). */
export const daysOfClass = (retentionClass: string): number => Number(/^(\d{1,5})d$/.exec(retentionClass)?.[1] ?? 0)
