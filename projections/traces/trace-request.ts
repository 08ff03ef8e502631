import type { Position } from '#src/events/envelope.ts'
import type { QueryTree } from '#src/events/query-tree.ts'
import type { SpanKind, SpanStatus } from '#src/events/telemetry.ts'
import { opaqueId } from '#src/events/tokens.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Filter, IndexReader, SortKey } from '../index-store.ts'
import { all, is, join } from '../reading/filters.ts'
import { inTraces, tracesScope } from './read-traces.ts'
import { spanFilter } from './span-filter.ts'
import { durationOf, listed, marksOf, type TraceDocument, type TraceMark } from './trace-document.ts'

export type TraceOrder = 'newest' | 'oldest' | 'longest' | 'most_spans' | 'errors'

/** How far traces were seen beyond what readers had been told of, by the day that holds them (passed-traces.ts). */
export type SeenBeyond = Readonly<Record<string, Position>>

/** A place in a walk, as plain data: the ordering value in decimal, the id, and what the index held when the walk began. */
export type WalkKey = Readonly<{ value: string; id: string; since: Position; seen?: SeenBeyond }>

/**
 * A search for traces. `service`, `operation`, `status`, `kind` and `query` are conditions on spans, and one span must meet all of them. With any of
 * these, the durations are the span's, otherwise the trace's. `traceId` is in the stored form (32 hex digits).
 */
export type TraceConditions = Readonly<{
  service?: string
  operation?: string
  status?: SpanStatus['code']
  kind?: SpanKind
  query?: QueryTree
  minDurationNs?: bigint
  maxDurationNs?: bigint
  traceId?: string
  sessionId?: string
  has?: readonly TraceMark[]
  /** Start of spans, nanoseconds: from inclusive, to exclusive. */
  fromNs?: bigint
  toNs?: bigint
}>
export type TraceRequest = TraceConditions &
  Readonly<{
    order: TraceOrder
    limit: number
    after?: WalkKey
    include?: readonly ('histogram' | 'facets')[]
    /** For the histogram: see CountedOverTime. */
    farNs?: bigint
  }>

/** What a walk through traces needs: the index, the workspace, and the request. */
export type Walk = Readonly<{ reader: IndexReader; workspaceId: WorkspaceId; request: TraceRequest }>

/**
 * The conditions as filters. `spans`: undefined if there is no condition on spans. `tracesAreNarrowed`: the traces of matching spans must also meet
 * `traces`. `meets` tests a whole trace, while a filter tests each of its documents.
 */
export type TraceFilters = Readonly<{
  spans: Filter | undefined
  traces: Filter
  tracesAreNarrowed: boolean
  meets(trace: TraceDocument): boolean
}>

/** A filter by number. A term that nearly every trace has would be walked in every search. */
const isListed: Filter = { kind: 'number', ...listed }

function durationFilter({ minDurationNs, maxDurationNs }: TraceConditions): Filter {
  if (minDurationNs === undefined && maxDurationNs === undefined) return all
  return {
    kind: 'number',
    field: 'duration_ns',
    ...(minDurationNs === undefined ? {} : { from: minDurationNs }),
    ...(maxDurationNs === undefined ? {} : { to: maxDurationNs }),
  }
}

/** Whether a trace has the requested marks and a duration within the bounds. */
function isWithin({ has = [], minDurationNs, maxDurationNs }: TraceConditions, trace: TraceDocument): boolean {
  const durationNs = durationOf(trace.summary) ?? 0n
  if (minDurationNs !== undefined && durationNs < minDurationNs) return false
  if (maxDurationNs !== undefined && durationNs > maxDurationNs) return false
  const marks = marksOf(trace)
  return has.every((mark) => marks.includes(mark))
}

/** Up to this many traces, conditions on traces are looked up first and become a condition on spans. */
const narrowedTracesMax = 1_000

/** The traces that meet a filter; undefined if there are too many. */
async function fewTraces(reader: IndexReader, workspaceId: WorkspaceId, filter: Filter): Promise<Filter | undefined> {
  const hits = await reader.search<TraceDocument>(tracesScope(workspaceId, 'traces'), {
    filter,
    orderBy: 'position',
    direction: 'desc',
    limit: narrowedTracesMax + 1,
  })
  if (hits.length > narrowedTracesMax) return undefined
  return inTraces([...new Set(hits.map(({ document }) => document.traceId))])
}

/** The filters for the conditions. Rejects with TooBroadError if one matches too much to be looked up. */
export async function traceFilters(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  conditions: TraceConditions,
): Promise<TraceFilters> {
  const { service, operation, status, kind, query, traceId, sessionId, has = [] } = conditions
  const onSpan = [service, operation, status, kind, query].some((condition) => condition !== undefined)
  const narrowing = [is('session_id', sessionId && opaqueId(sessionId)), ...has.map((mark) => is('has', mark))]
  const duration = durationFilter(conditions)
  const ownDuration = onSpan ? all : duration
  const traces = join('and', [isListed, is('trace_id', traceId), ...narrowing, ownDuration])
  const tracesAreNarrowed = sessionId !== undefined || has.length > 0
  const meets = (trace: TraceDocument): boolean => isWithin(onSpan ? { has } : conditions, trace)
  if (!onSpan) return { spans: undefined, traces, tracesAreNarrowed, meets }
  const spans = join('and', [
    is('trace_id', traceId),
    is('service', service),
    is('operation', operation),
    is('status', status),
    is('kind', kind),
    duration,
    query === undefined ? all : await spanFilter(reader, workspaceId, query),
  ])
  const few = tracesAreNarrowed ? await fewTraces(reader, workspaceId, traces) : undefined
  if (few === undefined) return { spans, traces, tracesAreNarrowed, meets }
  return { spans: join('and', [few, spans]), traces, tracesAreNarrowed: false, meets }
}

export const sortKeyOf = ({ value, id }: WalkKey): SortKey => ({ value: BigInt(value), id })
export const walkKeyOf = ({ value, id }: SortKey, since: Position, seen?: SeenBeyond): WalkKey => ({
  value: value.toString(),
  id,
  since,
  ...(seen === undefined ? {} : { seen }),
})
