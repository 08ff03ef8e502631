import type { Usage } from '#projections/allowance/query.ts'
import { dayMs } from '#src/lib/day.ts'

const hourMs = 3_600_000
/** So many days, today among them, say how fast spans come: a month that began slowly is not held back by it. */
const paceDays = 7

const midnightOf = (day: string): number => Date.parse(`${day}T00:00:00Z`)

/**
 * Spans at the end of the current month, should they go on coming as in the last seven days of it in which any came. Undefined
 * while less than an hour tells how fast that is.
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
