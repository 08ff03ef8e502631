import { beginningOf } from '#src/lib/beginning.ts'
import type { SpanKind, SpanStatus } from '#src/events/telemetry.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import type { Hit, IndexQuery, IndexReader, Scope, SortKey } from '../index-store.ts'
import { failureOf } from './failure.ts'
import { unsetStatus, type SpanDocument } from './span-document.ts'
import { sessionsOf, type TraceDocument } from './trace-document.ts'
import type { TracePart } from './trace-part.ts'
import { sessionsMax, summarizeAcross } from './trace-summary.ts'

/** A span that met the conditions of a search. */
export type MatchedSpan = Readonly<{
  span_id: string
  service: string
  operation: string
  kind: SpanKind
  status: SpanStatus['code']
  start: string
  duration_ns: string
  /** Why it failed; absent where it says nothing. */
  failure?: string
}>

/** A trace as lists show it. Times and duration are null while no span is stored. */
export type TraceSummary = Readonly<{
  trace_id: string
  root: Readonly<{ span_id: string; service: string; operation: string }> | null
  root_observed: boolean
  start: string | null
  end: string | null
  duration_ns: string | null
  span_count: number
  repeated_count: number
  error_count: number
  missing_parent_count: number
  rejected_span_count: number
  services: readonly Readonly<{ name: string; span_count: number; error_count: number }>[]
  matched_spans: readonly MatchedSpan[]
  has_logs: boolean
  has_rum: boolean
  session_ids: readonly string[]
}>

export const tracesScope = (workspaceId: WorkspaceId, collection: string): Scope => ({
  workspaceId,
  projection: 'traces',
  collection,
})

export const durationNs = (startNs: string, endNs: string): string => (BigInt(endNs) - BigInt(startNs)).toString()

/** The most characters of a name in lists, as many as a search for an operation may have. The span itself has all. */
const operationCharactersMax = 1_024
/** Of why a span failed. */
const failureCharactersMax = 256

export function matchedSpan(span: SpanDocument): MatchedSpan {
  const status = span.status ?? unsetStatus
  const failure = failureOf(status.message, span.spanEvents ?? [])
  return {
    span_id: span.spanId,
    service: span.service,
    operation: beginningOf(span.name, operationCharactersMax).toWellFormed(),
    kind: span.kind,
    status: status.code,
    start: formatTimeNs(BigInt(span.startNs)),
    duration_ns: durationNs(span.startNs, span.endNs),
    ...(failure === undefined ? {} : { failure: beginningOf(failure, failureCharactersMax).toWellFormed() }),
  }
}

export function traceSummary(trace: TraceDocument, matched: readonly MatchedSpan[] = []): TraceSummary {
  const { summary, hasLogs, hasRum } = trace
  const { startNs, endNs, root } = summary
  const time = (ns: string | null): string | null => (ns === null ? null : formatTimeNs(BigInt(ns)))
  return {
    trace_id: trace.traceId,
    root: root && { span_id: root.spanId, service: root.service, operation: root.operation },
    root_observed: root !== null,
    start: time(startNs),
    end: time(endNs),
    duration_ns: startNs === null || endNs === null ? null : durationNs(startNs, endNs),
    span_count: summary.spanCount,
    repeated_count: summary.repeatedCount,
    error_count: summary.errorCount,
    missing_parent_count: summary.missingParentCount,
    rejected_span_count: summary.rejectedSpanCount,
    services: summary.services.map(({ name, spanCount, errorCount }) => ({
      name,
      span_count: spanCount,
      error_count: errorCount,
    })),
    matched_spans: matched,
    has_logs: hasLogs,
    has_rum: hasRum,
    session_ids: sessionsOf(trace).slice(0, sessionsMax),
  }
}

const pageMax = 500
const partsPageMax = 16

/** The hits of these traces, page by page, in an order in which two documents of one id have different places. */
async function* searchPages<Document extends object>(
  reader: IndexReader,
  scope: Scope,
  traceIds: readonly string[],
  page: Partial<Pick<IndexQuery, 'orderBy' | 'direction' | 'limit'>> = {},
): AsyncGenerator<readonly Hit<Document>[]> {
  if (traceIds.length === 0) return
  const { orderBy = 'position', direction = 'asc', limit = pageMax } = page
  let after: SortKey | undefined
  for (;;) {
    const hits = await reader.search<Document>(scope, {
      filter: { kind: 'keyword', field: 'trace_id', values: traceIds },
      orderBy,
      direction,
      limit,
      after,
    })
    if (hits.length > 0) yield hits
    if (hits.length < limit) return
    after = hits.at(-1)?.sort
  }
}

/** The parts of a trace, of all its documents, the oldest document first (`desc`: the newest), about a megabyte at a time. */
export async function* partPages(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  traceId: string,
  direction: IndexQuery['direction'] = 'asc',
): AsyncGenerator<readonly TracePart[]> {
  const page = { orderBy: 'timeNs', direction, limit: partsPageMax }
  const found = searchPages<TracePart>(reader, tracesScope(workspaceId, 'parts'), [traceId], page)
  for await (const hits of found) yield hits.map(({ document }) => document)
}

async function mergeDocuments(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  documents: readonly TraceDocument[],
): Promise<TraceDocument | undefined> {
  const [first, ...later] = documents
  if (first === undefined || later.length === 0) return first
  return {
    ...first,
    summary: await summarizeAcross(partPages(reader, workspaceId, first.traceId, 'desc')),
    hasLogs: documents.some(({ hasLogs }) => hasLogs),
    hasRum: documents.some(({ hasRum }) => hasRum),
    joinedSessions: [...new Set(documents.flatMap(({ joinedSessions }) => joinedSessions))],
  }
}

type ReadTraces = Readonly<{
  traces: ReadonlyMap<string, TraceDocument>
  /** Traces that were continued after seven days and so have several documents. */
  continued: ReadonlySet<string>
}>

/** The traces of these ids, each as one, those without a span too. */
export async function readTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  traceIds: readonly string[],
): Promise<ReadTraces> {
  // By generation, because a document that changes while pages are read may be read twice.
  const found = new Map<string, Map<string, TraceDocument>>()
  const scope = tracesScope(workspaceId, 'traces')
  for (let from = 0; from < traceIds.length; from += pageMax) {
    const ids = traceIds.slice(from, from + pageMax)
    for await (const hits of searchPages<TraceDocument>(reader, scope, ids)) {
      for (const { document } of hits) {
        const { traceId, generation } = document
        found.set(traceId, (found.get(traceId) ?? new Map<string, TraceDocument>()).set(generation, document))
      }
    }
  }
  const traces = new Map<string, TraceDocument>()
  const continued = new Set<string>()
  for (const [traceId, generations] of found) {
    const documents = [...generations.values()].sort((a, b) => a.generation.localeCompare(b.generation))
    if (documents.length > 1) continued.add(traceId)
    const merged = await mergeDocuments(reader, workspaceId, documents)
    if (merged !== undefined) traces.set(traceId, merged)
  }
  return { traces, continued }
}
