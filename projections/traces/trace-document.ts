import { opaqueId } from '#src/events/tokens.ts'
import { clampInt64 } from '#src/lib/int64.ts'
import type { Collection, Searchable } from '../projection.ts'
import { emptySummary, type SpansSummary } from './trace-summary.ts'

/**
 * A trace, as far as it arrived within seven days of its first event. What comes later opens a second document, and readers merge the two. A trace
 * without a span, which only a log or a refusal has named, is never listed.
 */
export type TraceDocument = Readonly<{
  traceId: string
  /** UTC day of the document's first event. It is part of the ids of its parts, so that two documents do not share parts. */
  generation: string
  /** The sum of the parts, and of nothing else. */
  summary: SpansSummary
  hasLogs: boolean
  hasRum: boolean
  /** The sessions of logs and browser events that name the trace; at most 100, in order of arrival. */
  joinedSessions: readonly string[]
}>

export const emptyTrace = (traceId: string, generation: string): TraceDocument => ({
  traceId,
  generation,
  summary: emptySummary,
  hasLogs: false,
  hasRum: false,
  joinedSessions: [],
})

export type TraceMark = 'logs' | 'rum' | 'error' | 'missing_spans'

export function marksOf({
  hasLogs,
  hasRum,
  summary,
}: Pick<TraceDocument, 'hasLogs' | 'hasRum' | 'summary'>): TraceMark[] {
  const marks: TraceMark[] = []
  if (hasLogs) marks.push('logs')
  if (hasRum) marks.push('rum')
  if (summary.errorCount > 0) marks.push('error')
  if (summary.missingParentCount + summary.rejectedSpanCount > 0) marks.push('missing_spans')
  return marks
}

export const sessionsOf = ({
  summary,
  joinedSessions,
}: Pick<TraceDocument, 'summary' | 'joinedSessions'>): string[] => [
  ...new Set([...summary.sessions, ...joinedSessions]),
]

/** Nanoseconds from the first start to the last end; undefined if it holds no span. */
export const durationOf = ({ startNs, endNs }: TraceDocument['summary']): bigint | undefined =>
  startNs === null ? undefined : BigInt(endNs ?? 0) - BigInt(startNs)

function searchableTrace(trace: TraceDocument): Searchable {
  const { traceId, summary } = trace
  return {
    timeNs: clampInt64(BigInt(summary.startNs ?? 0)),
    fields: {
      trace_id: traceId,
      service: summary.services.map(({ name }) => name),
      root_service: summary.root?.service,
      operation: summary.root?.operation,
      has: marksOf(trace),
      session_id: sessionsOf(trace).map(opaqueId),
      last_start_ns: summary.lastStartNs === null ? undefined : BigInt(summary.lastStartNs),
      duration_ns: durationOf(summary),
      span_count: summary.spanCount,
      error_count: summary.errorCount,
    },
  }
}

/** Only traces with a span are listed: a log or a refusal may name a trace of which no span has arrived. */
export const listed = { field: 'span_count', from: 1 } as const

export const traces: Collection<TraceDocument> = {
  name: 'traces',
  kind: 'document',
  lookbackDays: 7,
  fields: {
    trace_id: 'id',
    service: 'keyword',
    root_service: 'keyword',
    operation: 'keyword',
    has: 'keyword',
    session_id: 'id',
    last_start_ns: 'number',
    duration_ns: 'number',
    span_count: 'number',
    error_count: 'number',
  },
  countedBy: ['has', 'service', 'operation'],
  countedWhere: listed,
  searchable: searchableTrace,
}
