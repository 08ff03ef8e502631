import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Hit, IndexReader } from '../index-store.ts'
import { all } from '../reading/filters.ts'
import { documentsOf, tracesScope } from './read-traces.ts'
import { timeOfSortable } from './sortable-time.ts'
import { traceIdOfSpanRecord } from './span-document.ts'
import type { TraceDocument } from './trace-document.ts'
import type { SeenBeyond, TraceOrder, Walk, WalkKey } from './trace-request.ts'

const later = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const sooner = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * The times of a trace, including those of its spans before they were sent again; undefined if it holds no span. Builds of earlier versions do not
 * have former times, and readers may still use such a build.
 */
function timesOf({ startNs, lastStartNs, endNs, replaced = null }: TraceDocument['summary']) {
  if (startNs === null || lastStartNs === null || endNs === null) return undefined
  const [start, lastStart, end] = [BigInt(startNs), BigInt(lastStartNs), BigInt(endNs)]
  if (replaced === null) return { start, lastStart, end }
  return {
    start: sooner(start, timeOfSortable(replaced.start)),
    lastStart: later(lastStart, timeOfSortable(replaced.lastStart)),
    end: later(end, timeOfSortable(replaced.end)),
  }
}

/** The foremost value that the trace may ever have had in this order. */
function foremost(order: TraceOrder, { summary }: TraceDocument): bigint | undefined {
  const times = timesOf(summary)
  if (times === undefined) return undefined
  if (order === 'newest') return times.lastStart
  if (order === 'oldest') return times.start
  if (order === 'longest') return times.end - times.start
  if (order === 'most_spans') return BigInt(summary.spanCount)
  return BigInt(summary.errorCount + (summary.replaced?.errorCount ?? 0))
}

/** How many of the traces that readers were not told of are looked at; they are mostly of one day or two. */
const seenMax = 50

/**
 * A batch is found before readers are told of it. How far each day's traces are by then, so that what a walk has seen at its beginning does not
 * count as moved since; undefined where they are no further, or where the engine may show a part of a batch. A day that is not named counts as
 * no further: then a trace of it may be left out, but none is listed twice.
 */
export async function seenBeyond(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  since: Position,
): Promise<SeenBeyond | undefined> {
  if (reader.showsWholeBatches !== true) return undefined
  const hits = await reader.search(tracesScope(workspaceId, 'traces'), {
    filter: all,
    since,
    orderBy: 'position',
    direction: 'desc',
    limit: seenMax,
  })
  if (hits.length === 0) return undefined
  // The furthest of a day is put in last, and stays.
  return Object.fromEntries(hits.toReversed().map(({ day, position }) => [day, position]))
}

/** The place in the walk as it is for traces of this day. */
const afterOn = (after: WalkKey, day: string): WalkKey => ({
  ...after,
  since: Math.max(after.since, after.seen?.[day] ?? 0),
})

type IsPassed = (hit: Hit<TraceDocument>, after: WalkKey) => boolean

/** A trace's place in an order: its value, then its id. */
type Place = Readonly<{ value: bigint; traceId: string }>

/** Whether a trace comes before a place in this order, or stands at it. */
function standsBefore(order: TraceOrder, { value, traceId }: Place, at: Place): boolean {
  if (value === at.value) return order === 'oldest' ? traceId <= at.traceId : traceId >= at.traceId
  return order === 'oldest' ? value < at.value : value > at.value
}

/** Whether a trace may have been before the walk's current place at some time since the walk began. */
export const traceIsPassed =
  (order: TraceOrder): IsPassed =>
  ({ document, day, position }, after) => {
    const { value, id, since } = afterOn(after, day)
    if (position <= since) return false
    const byStart = order === 'newest' || order === 'oldest'
    if (byStart && document.summary.startMovedAt <= since) return false
    const former = foremost(order, document)
    if (former === undefined) return false
    return standsBefore(order, { value: former, traceId: document.traceId }, { value: BigInt(value), traceId: id })
  }

/**
 * Whether a span that was before the walk's current place was sent again since the walk began. Spans are kept on other days than their trace, so
 * nobody knows which of them were seen beyond `since`.
 */
export const spanIsPassed =
  (order: TraceOrder): IsPassed =>
  ({ document: { traceId, summary } }, { value, id, since }) => {
    const { replaced = null } = summary
    if (replaced === null || replaced.position <= since) return false
    const former = timeOfSortable(order === 'oldest' ? replaced.start : replaced.lastStart)
    const at = { value: BigInt(value), traceId: traceIdOfSpanRecord(id) }
    return standsBefore(order, { value: former, traceId }, at)
  }

/** The traces that changed since the walk began and may have been listed on an earlier page. They are left out, so that nothing is listed twice. */
export async function passedTraces(
  { reader, workspaceId, request: { after } }: Walk,
  traceIds: readonly string[],
  isPassed: IsPassed,
): Promise<ReadonlySet<string>> {
  if (after === undefined || traceIds.length === 0) return new Set()
  const hits = await documentsOf(reader, workspaceId, traceIds, { filter: all, since: after.since })
  return new Set(hits.flatMap((hit) => (isPassed(hit, after) ? [hit.document.traceId] : [])))
}
