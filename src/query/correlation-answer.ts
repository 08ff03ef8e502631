import { z } from 'zod'
import {
  count,
  cursor,
  freeFields,
  indexState,
  int64,
  logItem,
  spanId,
  timestamp,
  traceId,
  type AnswerOf,
} from './answer-parts.ts'
import { spanStatuses, traceSummary } from './trace-answer.ts'
import { spanKinds } from '#src/events/telemetry.ts'

const dropped = { attributes: freeFields, dropped_attributes_count: count }

const span = z
  .object({
    trace_id: traceId,
    span_id: spanId,
    parent_span_id: spanId.nullable(),
    trace_state: z.string(),
    flags: count,
    name: z.string(),
    kind: z.enum(spanKinds),
    service: z.string(),
    session_id: z.string().nullable(),
    start: timestamp,
    end: timestamp,
    duration_ns: int64,
    status: z.object({ code: z.enum(spanStatuses), message: z.string() }),
    ...dropped,
    events: z.array(z.object({ time: timestamp, name: z.string(), ...dropped })),
    dropped_events_count: count,
    links: z.array(
      z.object({ trace_id: z.string(), span_id: z.string(), trace_state: z.string(), flags: count, ...dropped }),
    ),
    dropped_links_count: count,
    resource: z.object({ ...dropped, schema_url: z.string() }),
    scope: z.object({ name: z.string(), version: z.string(), ...dropped, schema_url: z.string() }),
    repeated: count.meta({ description: 'How often it came again in other requests.' }),
    cuts: z.array(z.string()).meta({ description: 'What was changed to make the span storable; usually empty.' }),
  })
  .meta({ id: 'Span' })

const missingSpan = z
  .object({
    span_id: spanId,
    referenced_by: z.array(spanId),
    reason: z.enum([
      'not_received',
      'not_indexed_yet',
      'rejected_allowance',
      'rejected_invalid',
      'rejected_entitlement',
    ]),
  })
  .meta({ id: 'MissingSpan', description: 'A span that is known of and not stored, and why.' })

const rumEvent = z
  .object({
    id: z.string(),
    timestamp,
    type: z.string(),
    name: z.string(),
    service: z.string().nullable(),
    session_id: z.string().nullable(),
    trace_id: traceId.nullable(),
    span_id: spanId.nullable(),
    url: z.string().nullable(),
    fields: freeFields,
  })
  .meta({ id: 'RumEvent' })

const partOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item),
    next_cursor: cursor,
    truncated: z.boolean().meta({
      description:
        'There is more: at `next_cursor`, or, where that is null, more sessions or traces than are looked up.',
    }),
  })

const omittableParts = ['trace', 'traces', 'logs'] as const

export const correlationAnswer = z
  .object({
    ids: z.object({
      trace_ids: z.array(traceId),
      session_ids: z.array(z.string()),
      span_ids: z.array(spanId),
      log_ids: z.array(z.string()),
    }),
    trace: z
      .object({
        summary: traceSummary,
        spans: z.array(span),
        next_cursor: cursor,
        truncated: z.boolean(),
        missing: z.array(missingSpan),
      })
      .nullable()
      .optional()
      .meta({ description: 'The trace asked for, else the newest of the session.' }),
    traces: partOf(traceSummary).optional().meta({ description: 'All traces found, the newest first.' }),
    logs: partOf(logItem).optional(),
    rum_events: partOf(rumEvent),
    sessions: z.array(z.object({ session_id: z.string(), linked_by: z.array(z.enum(['span', 'log', 'rum_event'])) })),
    timeline: z.array(
      z.object({ time: timestamp, kind: z.enum(['span', 'trace', 'log', 'rum_event']), ref: z.string() }),
    ),
    how: z
      .array(z.object({ from: z.string(), to: z.string(), by: z.string() }))
      .meta({ description: 'The shared identifiers by which the parts were joined; nothing is joined by time.' }),
    truncated: z.boolean(),
    omitted: z
      .array(z.enum(omittableParts))
      .meta({ description: 'Parts that the plan of the workspace does not include: they are left out.' }),
    index: indexState,
  })
  .meta({ id: 'CorrelationAnswer' })

export type CorrelationAnswer = AnswerOf<typeof correlationAnswer>
