import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { all } from '../filters.ts'
import type { IndexReader } from '../index-store.ts'
import { documentsOf } from './span-search.ts'
import { timeOfSortable } from './sortable-time.ts'
import { traceIdOfSpanRecord } from './span-document.ts'
import type { TraceDocument } from './trace-document.ts'
import type { TraceOrder, TraceRequest, WalkKey } from './trace-request.ts'

const later = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const sooner = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * The times of a trace, and those that its spans had before they came again; undefined while it holds none. An index of before knows of
 * no former ones: readers use it until theirs is folded.
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

/** A value that the trace may have been ordered by, before which it has never stood in this order. */
function foremost(order: TraceOrder, { summary }: TraceDocument): bigint | undefined {
  const times = timesOf(summary)
  if (times === undefined) return undefined
  if (order === 'newest') return times.lastStart
  if (order === 'oldest') return times.start
  if (order === 'longest') return times.end - times.start
  if (order === 'most_spans') return BigInt(summary.spanCount)
  return BigInt(summary.errorCount + (summary.replaced?.errorCount ?? 0))
}

type IsPassed = (document: TraceDocument, after: WalkKey) => boolean

/** Whether a value of a trace stands before another in this order, or there. */
function standsBefore(order: TraceOrder, value: bigint, traceId: string, at: bigint, idThere: string): boolean {
  if (value === at) return order === 'oldest' ? traceId <= idThere : traceId >= idThere
  return order === 'oldest' ? value < at : value > at
}

/** Whether a trace may have stood, since the walk over traces began, before the place that it has come to. */
export const traceIsPassed =
  (order: TraceOrder): IsPassed =>
  (document, { value, id, since }) => {
    const byStart = order === 'newest' || order === 'oldest'
    if (byStart && document.summary.startMovedAt <= since) return false
    const former = foremost(order, document)
    return former !== undefined && standsBefore(order, former, document.traceId, BigInt(value), id)
  }

/** Whether a span of the trace that stood before the place that a walk over spans has come to came again since it began. */
export const spanIsPassed =
  (order: TraceOrder): IsPassed =>
  ({ traceId, summary: { replaced = null } }, { value, id, since }) => {
    if (replaced === null || replaced.position <= since) return false
    const former = timeOfSortable(order === 'oldest' ? replaced.start : replaced.lastStart)
    return standsBefore(order, former, traceId, BigInt(value), traceIdOfSpanRecord(id))
  }

/**
 * Those of the traces that changed since the walk began and may have been listed on a page before this one, where they then
 * stood: they are left out, so that nothing is listed twice.
 */
export async function passedTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  { after }: TraceRequest,
  traceIds: readonly string[],
  isPassed: IsPassed,
): Promise<ReadonlySet<string>> {
  if (after === undefined || traceIds.length === 0) return new Set()
  const hits = await documentsOf(reader, workspaceId, traceIds, { filter: all, since: after.since })
  return new Set(hits.flatMap(({ document }) => (isPassed(document, after) ? [document.traceId] : [])))
}
