import { z } from 'zod'
import {
  andLater,
  count,
  cursor,
  facets,
  indexState,
  int64,
  query,
  range,
  spanId,
  timestamp,
  traceId,
  type AnswerOf,
} from './answer-parts.ts'
import { spanKinds } from '#src/events/telemetry.ts'

export const spanStatuses = ['ok', 'error', 'unset'] as const

const matchedSpan = z
  .object({
    span_id: spanId,
    service: z.string(),
    operation: z.string(),
    kind: z.enum(spanKinds),
    status: z.enum(spanStatuses),
    start: timestamp,
    duration_ns: int64,
    failure: z.string().optional().meta({
      description: 'The beginning of why it failed: the message of its status, or else of the last of its exceptions.',
    }),
  })
  .meta({ id: 'MatchedSpan' })

export const traceSummary = z
  .object({
    trace_id: traceId,
    root: z
      .object({ span_id: spanId, service: z.string(), operation: z.string() })
      .nullable()
      .meta({ description: 'The observed span without a parent; null while none has arrived. Never made up.' }),
    root_observed: z.boolean(),
    start: timestamp.nullable(),
    end: timestamp.nullable(),
    duration_ns: int64.nullable(),
    span_count: count,
    repeated_count: count.meta({ description: 'Spans that came again in another request.' }),
    error_count: count,
    missing_parent_count: count,
    rejected_span_count: count,
    services: z.array(z.object({ name: z.string(), span_count: count, error_count: count })),
    matched_spans: z.array(matchedSpan).max(3),
    has_logs: z.boolean(),
    has_rum: z.boolean(),
    session_ids: z.array(z.string()),
  })
  .meta({ id: 'TraceSummary' })

const histogram = z
  .object({
    of: z.enum(['traces', 'spans']).meta({
      description: 'What is counted: traces, each at its start, or the spans that meet the conditions on spans.',
    }),
    step_ms: count,
    buckets: z.array(z.object({ time: timestamp, total: count, errors: count, and_later: andLater })),
  })
  .nullable()
  .meta({ id: 'TraceHistogram', description: 'Null where too many traces meet `has` or `session_id` to be counted.' })

export const traceSearchAnswer = z
  .object({
    traces: z.array(traceSummary),
    next_cursor: cursor,
    histogram: histogram.optional(),
    facets: facets.nullable().optional(),
    query,
    range,
    index: indexState,
  })
  .meta({ id: 'TraceSearchAnswer' })

export type TraceSearchAnswer = AnswerOf<typeof traceSearchAnswer>

export const traceListingAnswer = z
  .object({
    data: z.array(traceSummary),
    next_cursor: cursor,
    has_more: z.boolean(),
    query,
    range,
    index: indexState,
  })
  .meta({ id: 'TraceListingAnswer' })

export type TraceListingAnswer = AnswerOf<typeof traceListingAnswer>
