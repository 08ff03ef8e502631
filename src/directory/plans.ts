import type { Keeping } from '#src/events/retention.ts'
import type { Workspace, WorkspacePlan } from './directory.ts'

export type Plans = Readonly<Record<string, WorkspacePlan>>

/** A plan that is no longer in the table grants nothing. */
const unknownPlan = (name: string): WorkspacePlan => ({ name, features: [], spansPerMonth: 0, retentionDays: 7 })

export const planNamed = (plans: Plans, name: string): WorkspacePlan =>
  (Object.hasOwn(plans, name) ? plans[name] : undefined) ?? unknownPlan(name)

/** The workspace with another plan from a time (ms) on. */
export function withPlan(workspace: Workspace, plan: WorkspacePlan, at: number): Workspace {
  const { retentionDays } = workspace.plan
  return { ...workspace, plan, formerPlans: [...(workspace.formerPlans ?? []), { retentionDays, until: at }] }
}

export const keepingOf = ({ plan: { retentionDays }, formerPlans = [] }: Workspace): Keeping => ({
  retentionDays,
  formerPlans,
})

/** The longest retention of any plan: for workspaces that are not known yet. */
export const longestKeeping = (plans: Plans): Keeping => ({
  retentionDays: Math.max(...Object.values(plans).map(({ retentionDays }) => retentionDays)),
})
