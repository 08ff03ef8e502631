import { daysNeeded } from '#projections/retention/first-days.ts'
import { projections } from '#projections/registry.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { limits, plans } from '#src/config.ts'

const dayMs = 86_400_000

/** Days of receipt that an index of a projection has, today's with them, under the plan that keeps most; or all that the log goes back. */
function daysOf(projection: (typeof projections)[number], logDays: number): number {
  const now = Date.UTC(2026, 10, 21)
  const all = Object.values(plans)
  const first = daysNeeded(projection, { all, of: () => ({ retentionDays: 0 }) }, now).all
  return Math.max(1 + (now - Date.parse(first)) / dayMs, logDays)
}

const indicesOf = (logDays: number): number =>
  projections
    .map((one) => Object.keys(withSeenEvents(one).collections).length * daysOf(one, logDays))
    .reduce((sum, indices) => sum + indices, 0)

/**
 * How many shards Elasticsearch has to take: a build has an index of one shard for each collection and day. Of each projection there may be
 * at once the live build, the one that readers left within a day, one that is folded from all of the log, and one that `--keep` keeps.
 */
export const shardsNeeded = (): number => 3 * indicesOf(0) + indicesOf(1 + limits.logDaysMin + limits.logDaysMore)
