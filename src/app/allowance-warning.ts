import type { Workspace } from '#src/directory/directory.ts'
import type { Usage } from '#projections/allowance/query.ts'

/** Shares of the allowance, in percent, from which senders (ingest/span-messages.ts) and readers are warned. */
const warnings = [100, 95, 80] as const

/** The warning about the span allowance at the head of each page; undefined below the first share. */
export function allowanceWarning(workspace: Workspace | undefined, usage: Usage | undefined): string | undefined {
  const limit = workspace?.plan.spansPerMonth
  if (limit === undefined || limit === null || usage === undefined) return undefined
  const { spans, resetsAt } = usage
  const percent = warnings.find((each) => spans * 100 >= limit * each)
  if (percent === undefined) return undefined
  const reset = new Date(resetsAt).toISOString().slice(0, 10)
  if (percent === 100) {
    return `The monthly allowance of ${limit.toLocaleString('en')} spans is used up: further spans are rejected until ${reset}.`
  }
  return `At least ${percent} % of the monthly allowance of ${limit.toLocaleString('en')} spans is used; it resets on ${reset}.`
}
