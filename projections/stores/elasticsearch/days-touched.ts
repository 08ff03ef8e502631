import { bucketsIn, objectIn, textIn } from './answer-parts.ts'
import { ask, type Target } from './ask.ts'
import { and, inRange, ofWorkspace, type Query, type TimeRange } from './filter.ts'

/** More days than are ever kept. */
const daysMax = 10_000

/** Documents of these indices. */
export const inDays = (names: readonly string[]): Query => ({ terms: { _index: names } })

/** The names of indices; undefined: those of all days. */
export type DaysTouched = ReadonlySet<string> | undefined

/** The indices of the days in which a workspace has a document within a range of time; undefined if the range is open. */
export async function daysTouched(target: Target, range: TimeRange): Promise<DaysTouched> {
  const times = inRange(range)
  if (times.length === 0) return undefined
  const query = and([ofWorkspace(target.workspaceId), ...times])
  const aggs = { days: { terms: { field: '_index', size: daysMax } } }
  // Each shard is done with its first document.
  const answer = await ask(target, { size: 0, track_total_hits: false, terminate_after: 1, query, aggs })
  return new Set(bucketsIn(objectIn(answer['aggregations'])['days']).map(({ key }) => textIn(key)))
}
