import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexReader, Progress } from '../index-store.ts'
import { createSpanSearch } from './span-search.ts'
import { traceSummary, tracesScope, type TraceSummary } from './trace-answer.ts'
import { countTraces, type TraceCounts } from './trace-counts.ts'
import { traceFilters, type TraceRequest, type WalkKey } from './trace-request.ts'
import { walkByNumber, walkSpans, walkTraces } from './walk-traces.ts'

export { readTrace } from './read-trace.ts'
export type { MissingReason, MissingSpan, SpanAnswer, TraceRead } from './read-trace.ts'
export type { MatchedSpan, TraceSummary } from './trace-answer.ts'
export type { TraceHistogram } from './trace-counts.ts'
export type { TraceMark } from './trace-document.ts'
export type { TraceConditions, TraceOrder, TraceRequest, WalkKey } from './trace-request.ts'

/** A page of traces; `next` is null at the end. A page may be short and still have a next one. */
export type TracePage = TraceCounts &
  Readonly<{
    traces: readonly TraceSummary[]
    next: WalkKey | null
    progress: Progress | undefined
  }>

/** Position of the newest change among the traces: what is above it has changed since. */
async function lastPosition(reader: IndexReader, workspaceId: WorkspaceId): Promise<number> {
  const query = { filter: { kind: 'all' }, orderBy: 'position', direction: 'desc', limit: 1 } as const
  const [last] = await reader.search(tracesScope(workspaceId, 'traces'), query)
  return last?.position ?? 0
}

/**
 * Traces that hold at least one stored span and meet the conditions (CONTRACT §5). With conditions on spans, newest and
 * oldest go by the start of the newest (oldest) span that meets them; without, by the start of the trace. Rejects with
 * TooBroadError when a condition matches too much to be looked up.
 */
export async function searchTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  request: TraceRequest,
): Promise<TracePage> {
  const progress = await reader.progress('traces')
  const filters = await traceFilters(reader, workspaceId, request)
  const counts = await countTraces(reader, workspaceId, filters, request)
  const since = request.after?.since ?? (await lastPosition(reader, workspaceId))
  const walk = { reader, workspaceId, request, since }
  if (filters.spans === undefined) {
    const { traces, next } = await walkTraces(walk, filters.traces, undefined)
    return { traces: traces.map((trace) => traceSummary(trace)), next, progress, ...counts }
  }
  const spans = createSpanSearch(reader, workspaceId, filters.spans, request)
  const byTime = request.order === 'newest' || request.order === 'oldest'
  const { traces, next } = await (byTime ? walkSpans : walkByNumber)(walk, filters, spans)
  const direction = request.order === 'oldest' ? 'asc' : 'desc'
  const matched = await spans.matchedIn(
    traces.map(({ traceId }) => traceId),
    direction,
  )
  return { traces: traces.map((trace) => traceSummary(trace, matched.get(trace.traceId))), next, progress, ...counts }
}
