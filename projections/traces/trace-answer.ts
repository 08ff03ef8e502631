import { beginningOf } from '#src/lib/beginning.ts'
import type { Attributes, SharedAttributes, SpanKind, SpanStatus } from '#src/events/telemetry.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { failureOf } from './failure.ts'
import { unsetStatus, type SpanDocument } from './span-document.ts'
import { sessionsOf, type TraceDocument } from './trace-document.ts'
import { sessionsMax } from './trace-summary.ts'

/** A span that met the conditions of a search. */
export type MatchedSpan = Readonly<{
  span_id: string
  service: string
  operation: string
  kind: SpanKind
  status: SpanStatus['code']
  start: string
  duration_ns: string
  /** Why it failed, in its own words; absent if it does not say so. */
  failure?: string
}>

/** A trace as lists show it. Times and duration are null if no span is stored. */
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

const durationNs = (startNs: string, endNs: string): string => (BigInt(endNs) - BigInt(startNs)).toString()

/** The most characters of a name in lists, as many as a search for an operation may have. The span itself has the whole name. */
const operationCharactersMax = 1_024
/** The same limit for the reason of a failure. */
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

type Attributed = Readonly<{ attributes: Attributes; dropped_attributes_count: number }>
type SetAnswer = Attributed & Readonly<{ name: string; version: string; schema_url: string }>

/** A span in the answer for a trace: as it was received, with the attributes of its resource and scope. */
export type SpanAnswer = Attributed &
  Readonly<{
    trace_id: string
    span_id: string
    parent_span_id: string | null
    trace_state: string
    flags: number
    name: string
    kind: SpanKind
    service: string
    session_id: string | null
    start: string
    end: string
    duration_ns: string
    status: SpanStatus
    events: readonly (Attributed & Readonly<{ time: string; name: string }>)[]
    dropped_events_count: number
    links: readonly (Attributed & Readonly<{ trace_id: string; span_id: string; trace_state: string; flags: number }>)[]
    dropped_links_count: number
    resource: Omit<SetAnswer, 'name' | 'version'>
    scope: SetAnswer
    /** How often it was received again in other requests. */
    repeated: number
    cuts: readonly string[]
  }>

const unknownSet: SetAnswer = { name: '', version: '', attributes: {}, dropped_attributes_count: 0, schema_url: '' }

function setAnswer(set: SharedAttributes | undefined): SetAnswer {
  if (set === undefined) return unknownSet
  const { name, version, attributes, droppedAttributesCount, schemaUrl } = set
  return { name, version, attributes, dropped_attributes_count: droppedAttributesCount, schema_url: schemaUrl }
}

export function spanAnswer(
  span: SpanDocument,
  sets: ReadonlyMap<string, SharedAttributes>,
  repeated: number,
): SpanAnswer {
  const { name: _name, version: _version, ...resource } = setAnswer(sets.get(span.resource))
  return {
    trace_id: span.traceId,
    span_id: span.spanId,
    parent_span_id: span.parentSpanId ?? null,
    trace_state: span.traceState ?? '',
    flags: span.flags ?? 0,
    name: span.name,
    kind: span.kind,
    service: span.service,
    session_id: span.sessionId ?? null,
    start: formatTimeNs(BigInt(span.startNs)),
    end: formatTimeNs(BigInt(span.endNs)),
    duration_ns: durationNs(span.startNs, span.endNs),
    status: span.status ?? unsetStatus,
    attributes: span.attributes,
    dropped_attributes_count: span.droppedAttributesCount ?? 0,
    events: (span.spanEvents ?? []).map((event) => ({
      time: formatTimeNs(BigInt(event.timeNs)),
      name: event.name,
      attributes: event.attributes,
      dropped_attributes_count: event.droppedAttributesCount,
    })),
    dropped_events_count: span.droppedEventsCount ?? 0,
    links: (span.links ?? []).map((link) => ({
      trace_id: link.traceId,
      span_id: link.spanId,
      trace_state: link.traceState,
      flags: link.flags,
      attributes: link.attributes,
      dropped_attributes_count: link.droppedAttributesCount,
    })),
    dropped_links_count: span.droppedLinksCount ?? 0,
    resource,
    scope: setAnswer(sets.get(span.scope)),
    repeated,
    cuts: span.cuts ?? [],
  }
}
