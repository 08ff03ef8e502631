import { dayBefore, dayOf } from '#src/lib/day.ts'

/** A plan that a workspace had, until when (ms). */
export type PastPlan = Readonly<{ retentionDays: number; until: number }>
/** For how many days of receipt the records of a workspace are kept: by its plan, and by those that it had before. */
export type Keeping = Readonly<{ retentionDays: number; formerPlans?: readonly PastPlan[] }>

/**
 * The first UTC day of receipt of which records are kept: so many days before today's. What a former plan had let go by its end stays
 * gone under a plan that keeps more. `daysMin`: what is kept so long whatever the plan.
 */
export function firstDayKept({ retentionDays, formerPlans = [] }: Keeping, now: number, daysMin = 0): string {
  const firstAt = (days: number, at: number): string => dayBefore(dayOf(at), Math.max(days, daysMin))
  return formerPlans
    .map((plan) => firstAt(plan.retentionDays, plan.until))
    .reduce((first, day) => (day > first ? day : first), firstAt(retentionDays, now))
}

/** The retention class of what is received under a plan: `30d`. */
export const retentionClassOf = (retentionDays: number): string => `${retentionDays}d`

/** The days of a retention class; 0 for those that are no plan's (`allowance`, `deadletter`). */
export const daysOfClass = (retentionClass: string): number => Number(/^(\d{1,5})d$/.exec(retentionClass)?.[1] ?? 0)
