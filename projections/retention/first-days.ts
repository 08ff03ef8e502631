import { firstDayKept, type Keeping } from '#src/events/retention.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { dayBefore } from '#src/lib/day.ts'
import { withSeenEvents } from '../folding/seen-events.ts'
import { reachedFor, type IndexReader, type KeptDays, type Scope } from '../index-store.ts'
import { collectionsOf, type Projection } from '../projection.ts'

/** How long the records of a workspace are kept, even of an unknown one; `all`: every keeping that occurs. */
export type Keepings = Readonly<{ of(workspaceId: WorkspaceId): Keeping; all: readonly Keeping[] }>

/** The first day of receipt that readers see, of a workspace in a projection. */
export type FirstDay = (workspaceId: WorkspaceId, projection: string) => string

/** By the current plans and time: a later call may give another day. */
export const firstDayBy =
  (projections: readonly Projection[], keepingOf: Keepings['of'], clock: () => number): FirstDay =>
  (workspaceId, name) => {
    const projection = projections.find((one) => one.name === name)
    return firstDayKept(keepingOf(workspaceId), clock(), projection?.keptDaysMin)
  }

/** How many days back an event may find documents to be folded into. */
const reachOf = (projection: Projection): number =>
  Math.max(...collectionsOf(withSeenEvents(projection)).map(({ lookbackDays }) => lookbackDays))

/**
 * The days that an index still needs once everything received by a time (ms) is folded: what readers see, and what new events may still
 * find, plus one day for clocks that differ and for queries under way.
 */
export function daysNeeded(projection: Projection, keepings: Keepings, at: number): KeptDays {
  const daysMin = Math.max(projection.keptDaysMin ?? 0, reachOf(projection))
  const firstOf = (keeping: Keeping): string => dayBefore(firstDayKept(keeping, at, daysMin), 1)
  const [earliest = ''] = keepings.all.map(firstOf).sort()
  return {
    of: (workspaceId) => firstOf(keepings.of(workspaceId)),
    all: earliest,
  }
}

/** A reader that hides the days before the first one, whatever is still stored: so all engines answer alike. */
export function withFirstDays(reader: IndexReader, firstDay: FirstDay): IndexReader {
  const from = (scope: Scope): Scope => ({ ...scope, fromDay: firstDay(scope.workspaceId, scope.projection) })
  return {
    ...(reader.answersInOrder === true ? { answersInOrder: true } : {}),
    ...(reader.showsWholeBatches === true ? { showsWholeBatches: true } : {}),
    progress: (projection) => reader.progress(projection),
    get: (scope, ids) => reader.get(from(scope), ids),
    search: (scope, query) => reader.search(from(scope), query),
    places: (scope, query) => reader.places(from(scope), query),
    count: (scope, selection) => reader.count(from(scope), selection),
    histogram: (scope, ...asked) => reader.histogram(from(scope), ...asked),
    facets: (scope, ...asked) => reader.facets(from(scope), ...asked),
    close: () => reader.close(),
  }
}

/** A reader whose progress is that of one workspace: how far the index is for it, and which of its visible days are lost. */
export const withOwnProgress = <Reader extends Pick<IndexReader, 'progress'>>(
  reader: Reader,
  workspaceId: WorkspaceId,
  firstDay: FirstDay,
): Reader => ({
  ...reader,
  async progress(projection: string) {
    const found = await reader.progress(projection)
    if (found === undefined) return undefined
    const { ahead, lostDays = [], lacking = [], ...told } = found
    const from = firstDay(workspaceId, projection)
    const own = lostDays.filter((lost) => (lost.workspaceId ?? workspaceId) === workspaceId && lost.day >= from)
    const isAhead = ahead !== undefined && !ahead.behind.has(workspaceId)
    return {
      ...told,
      position: reachedFor(found, workspaceId),
      caughtUpAt: isAhead ? Math.max(told.caughtUpAt, ahead.caughtUpAt) : told.caughtUpAt,
      ...(own.length === 0 ? {} : { lostDays: own }),
      ...(lacking.includes(workspaceId) ? { lacking: [workspaceId] } : {}),
    }
  },
})
