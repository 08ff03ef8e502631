import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexReader, Progress, SortKey } from '../index-store.ts'
import { askInOrder } from '../reading/ask-in-order.ts'
import { ownField, type OwnField } from '../reading/field-schema.ts'
import { spanFields } from './span-filter.ts'
import { createSpanSearch } from './span-search.ts'
import { seenBeyond } from './passed-traces.ts'
import { traceSummary, type TraceSummary } from './trace-answer.ts'
import { countTraces, type TraceCounts } from './trace-counts.ts'
import { traceFilters, walkKeyOf, type TraceRequest, type WalkKey } from './trace-request.ts'
import { walkByNumber, walkSpans, walkTraces } from './walk-traces.ts'

export { failureOf } from './failure.ts'
export { nearestError, placesOfSpan, spansFound, type FoundSpan } from './span-places.ts'
export { unmetIdPatterns } from './span-filter.ts'
export type { TraceRequest, WalkKey } from './trace-request.ts'

/** The own field of spans that a search compares under a name, if there is one. */
export const ownSpanField = (name: string): OwnField | undefined => ownField(spanFields, name)

/** A page of traces; `next` is null at the end. A page may be short and still have a next one. */
export type TracePage = TraceCounts &
  Readonly<{
    traces: readonly TraceSummary[]
    next: WalkKey | null
    progress: Progress | undefined
  }>

async function findTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  request: TraceRequest,
): Promise<TraceCounts & Readonly<{ traces: readonly TraceSummary[]; next: SortKey | null }>> {
  const filters = await traceFilters(reader, workspaceId, request)
  const counts = await countTraces(reader, workspaceId, filters, request)
  const walk = { reader, workspaceId, request }
  const spans = filters.spans === undefined ? undefined : createSpanSearch(reader, workspaceId, filters.spans, request)
  const byTime = request.order === 'newest' || request.order === 'oldest'
  const { traces, next, matched } = await (spans === undefined
    ? walkTraces(walk, filters, undefined)
    : (byTime ? walkSpans : walkByNumber)(walk, filters, spans))
  const direction = request.order === 'oldest' ? 'asc' : 'desc'
  const others = traces.map(({ traceId }) => traceId).filter((traceId) => !matched.has(traceId))
  const searched = others.length === 0 ? undefined : await spans?.matchedIn(others, direction)
  const summaries = traces.map((trace) =>
    traceSummary(trace, matched.get(trace.traceId) ?? searched?.get(trace.traceId)),
  )
  return { traces: summaries, next, ...counts }
}

/**
 * Traces that hold at least one stored span and meet the conditions. With conditions on spans, `newest` and `oldest` order by the start of the newest
 * (oldest) matching span; without, by the start of the trace. Rejects with TooBroadError if a condition matches too much to be looked up.
 */
export async function searchTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  request: TraceRequest,
): Promise<TracePage> {
  const { after } = request
  const progress = await reader.progress('traces')
  // Readers find everything up to this position, and perhaps some of what was written after it.
  const since = after?.since ?? progress?.position ?? 0
  const [seen, { next, ...found }] = await askInOrder(reader, [
    async () => (after === undefined ? seenBeyond(reader, workspaceId, since) : after.seen),
    () => findTraces(reader, workspaceId, request),
  ])
  return { ...found, next: next === null ? null : walkKeyOf(next, since, seen), progress }
}
