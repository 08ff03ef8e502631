import { z } from 'zod'
import {
  correlate,
  type Correlation,
  type CorrelationId,
  type CorrelationRequest,
  type OmittablePart,
  type PagedPart,
  type WalkKey,
} from '#projections/correlation/query.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { parseTraceparent } from '#src/events/traceparent.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Json } from '#src/lib/json.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import type { Answered, QueryContext } from './context.ts'
import { indexState, invalidParameter, normalizeTraceId } from './context.ts'
import type { Binding } from './cursor.ts'
import { queryFingerprint, readParameters, text } from './parameters.ts'

const parameters = z.object({
  trace_id: text(64),
  traceparent: text(256),
  session_id: text(128),
  span_id: text(32),
  log_id: text(256),
  id: text(256),
  cursor: text(4_096),
})
type Given = z.output<typeof parameters>

const kinds = ['trace_id', 'traceparent', 'session_id', 'span_id', 'log_id', 'id'] as const

/** The form that each kind of id must have; undefined refuses. */
const normalize: Readonly<Record<(typeof kinds)[number], (value: string) => string | undefined>> = {
  trace_id: normalizeTraceId,
  traceparent: (value) => (parseTraceparent(value) === undefined ? undefined : value),
  span_id: (value) => (/^[0-9a-f]{16}$/i.test(value) ? value.toLowerCase() : undefined),
  session_id: (value) => value,
  log_id: (value) => value,
  id: (value) => value,
}
const forms: Readonly<Record<(typeof kinds)[number], string>> = {
  trace_id: 'not a trace id: 32 (or 16) hex digits',
  traceparent: 'not a W3C traceparent: 00-TRACE_ID-SPAN_ID-FLAGS',
  span_id: 'not a span id: 16 hex digits',
  session_id: '',
  log_id: '',
  id: '',
}

function readId(given: Given): Result<CorrelationId, Refusal> {
  const [kind, ...others] = kinds.filter((name) => given[name] !== undefined)
  if (kind === undefined || others.length > 0) {
    return fail(refusal('invalid_parameter', `give one of ${kinds.join(', ')}`))
  }
  const value = normalize[kind](given[kind] ?? '')
  return value === undefined ? invalidParameter(kind, forms[kind]) : ok({ kind, value })
}

/** The parts that the plan does not include; `omitted` in the answer names them. */
function omittedParts(workspace: Workspace | undefined): readonly OmittablePart[] {
  const features = workspace?.plan.features ?? []
  return [
    ...(features.includes('tracing') ? [] : ['traces' as const]),
    ...(features.includes('logs') ? [] : ['logs' as const]),
  ]
}

const placed = (part: PagedPart, key: WalkKey): Json => ({ part, key })

function readAfter(
  context: QueryContext,
  binding: Binding,
  cursor: string | undefined,
): Result<CorrelationRequest['after'], Refusal> {
  if (cursor === undefined) return ok({})
  const place = context.cursors.read(binding, cursor)
  if (!place.ok) return place
  const { part, key } = place.value.key as unknown as Readonly<{ part: PagedPart; key: WalkKey }>
  return ok({ [part]: key })
}

/** The answer's own form: cursors where the projection has keys. */
function shape(found: Correlation, cursorOf: (part: PagedPart, key: WalkKey | null) => string | null): object {
  const { trace, traces, logs, rum_events: rumEvents } = found
  const paged = (
    part: PagedPart,
    page: Readonly<{ items: readonly unknown[]; next: WalkKey | null; truncated: boolean }> | null,
  ) => (page === null ? null : { items: page.items, next_cursor: cursorOf(part, page.next), truncated: page.truncated })
  return {
    ids: found.ids,
    trace:
      trace === null
        ? null
        : {
            summary: trace.summary,
            spans: trace.spans,
            next_cursor: cursorOf('spans', trace.spans_next),
            truncated: trace.spans_next !== null || trace.missing_truncated,
            missing: trace.missing,
          },
    traces: paged('traces', traces),
    logs: paged('logs', logs),
    rum_events: paged('rum_events', rumEvents),
    sessions: found.sessions,
    timeline: found.timeline,
    how: found.how,
    truncated: found.truncated,
  }
}

/** GET /api/app/correlation (CONTRACT §6): everything that shares an identifier with the one given. */
export async function answerCorrelation(context: QueryContext, workspaceId: WorkspaceId, search: string): Answered {
  const given = readParameters(search, parameters)
  if (!given.ok) return given
  const id = readId(given.value)
  if (!id.ok) return id
  const binding = { workspaceId, endpoint: 'correlation', fingerprint: queryFingerprint(search) }
  const after = readAfter(context, binding, given.value.cursor)
  if (!after.ok) return after
  const omit = omittedParts(context.directory.workspace(workspaceId))
  const found = await correlate(context.reader, workspaceId, { id: id.value, omit, after: after.value ?? {} })
  const index = indexState(found.progress, context.clock())
  if (!found.found && index.complete) {
    return fail(
      refusal('not_found', `This workspace has never seen the ${id.value.kind} ${JSON.stringify(id.value.value)}.`),
    )
  }
  const cursorOf = (part: PagedPart, key: WalkKey | null): string | null =>
    key === null ? null : context.cursors.write(binding, { key: placed(part, key) })
  return ok({ ...shape(found, cursorOf), omitted: omit, index })
}
