import type { Usage } from '#projections/allowance/query.ts'
import { dayMs } from '#src/lib/day.ts'

const hourMs = 3_600_000
/** Number of days, including today, that the pace is taken from, so that a slow beginning of the month does not distort it. */
const paceDays = 7

const midnightOf = (day: string): number => Date.parse(`${day}T00:00:00Z`)

/**
 * The expected number of spans at the end of the current month, if they keep the pace since the first of the last seven days that had any. Undefined
 * if there is less than an hour to judge by.
 */
export function forecastSpans({ spans, byDay, resetsAt }: Usage, nowMs: number): number | undefined {
  const oldest = Math.floor(nowMs / dayMs) * dayMs - (paceDays - 1) * dayMs
  const counted = Object.entries(byDay).filter(([day, tally]) => tally.spans > 0 && midnightOf(day) >= oldest)
  const firstMs = Math.min(...counted.map(([day]) => midnightOf(day)))
  const elapsedMs = nowMs - firstMs
  if (counted.length === 0 || elapsedMs < hourMs) return undefined
  const recent = counted.reduce((sum, [, tally]) => sum + tally.spans, 0)
  return Math.round(spans + (recent / elapsedMs) * Math.max(0, resetsAt - nowMs))
}
