import { z } from 'zod'
import {
  correlate,
  usualLimits,
  type Correlation,
  type CorrelationId,
  type CorrelationRequest,
  type PagedPart,
  type WalkKey,
} from '#projections/correlation/query.ts'
import { nearestError, placesOfSpan, spansFound, type FoundSpan } from '#projections/traces/query.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { askedSpanId } from '#src/events/ids.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { parseTraceparent } from '#src/events/traceparent.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { bindingOf, indexState, understand, type Answered, type QueryContext } from './context.ts'
import type { CorrelationAnswer } from './correlation-answer.ts'
import type { Binding } from './cursor.ts'
import { parsedText, readParameters, shared, text } from './parameters.ts'

/** The text in lower case if it is a `traceparent`. */
const readTraceparent = (given: string): string | undefined =>
  parseTraceparent(given.toLowerCase()) === undefined ? undefined : given.toLowerCase()

export const correlationParameters = z.object({
  trace_id: shared.trace_id,
  traceparent: parsedText(readTraceparent, 'a W3C traceparent: 00-TRACE_ID-SPAN_ID-FLAGS').meta({
    examples: ['00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01'],
  }),
  session_id: shared.session_id,
  span_id: parsedText(askedSpanId, 'a span id: 16 hex digits, not all zero').meta({ examples: ['eee19b7ec3c1b174'] }),
  log_id: text(256).meta({ description: 'The `id` of a log record of an answer.' }),
  id: text(256).meta({ description: 'An id of any of these kinds: every shape that fits is tried.' }),
  cursor: shared.cursor.meta({ description: '`next_cursor` of one part: that part goes on, the others stand.' }),
})
type Given = z.output<typeof correlationParameters>

const kinds = ['trace_id', 'traceparent', 'session_id', 'span_id', 'log_id', 'id'] as const

function readId(given: Given): Result<CorrelationId, Refusal> {
  const [kind, ...others] = kinds.filter((name) => given[name] !== undefined)
  if (kind !== undefined && others.length === 0) return ok({ kind, value: given[kind] ?? '' })
  const detail = `give one of ${kinds.join(', ')}${kind === undefined ? '' : ', not several'}`
  const paths = kind === undefined ? kinds : [kind, ...others]
  return fail(refusal('invalid_parameter', detail, { errors: paths.map((path) => ({ path, message: detail })) }))
}

/** What the plan does not include, as the projection's names of parts (`omit`) and as the answer's (`omitted`). */
function lacking(workspace: Workspace | undefined) {
  const features = workspace?.plan.features ?? []
  const [tracing, logs] = [features.includes('tracing'), features.includes('logs')]
  return {
    omit: [...(tracing ? [] : ['traces' as const]), ...(logs ? [] : ['logs' as const])],
    omitted: [...(tracing ? [] : ['trace' as const, 'traces' as const]), ...(logs ? [] : ['logs' as const])],
  }
}

function readAfter(
  context: QueryContext,
  binding: Binding,
  cursor: string | undefined,
): Result<NonNullable<CorrelationRequest['after']>, Refusal> {
  if (cursor === undefined) return ok({})
  const place = context.cursors.read(binding, cursor)
  if (!place.ok) return place
  const { part, key } = place.value.key as unknown as Readonly<{ part: PagedPart; key: WalkKey }>
  return ok({ [part]: key })
}

const endpoint = 'correlation'

/** Builds the answer, with cursors instead of the projection's keys and without the parts that the plan lacks. */
function shape(
  found: Correlation,
  cursorOf: (part: PagedPart, key: WalkKey | null) => string | null,
): Omit<CorrelationAnswer, 'omitted' | 'index'> {
  const { ids, trace, traces, logs, rum_events: rumEvents, sessions, timeline, how, truncated } = found
  const paged = <Item>(
    part: PagedPart,
    page: Readonly<{ items: readonly Item[]; next: WalkKey | null; truncated: boolean }>,
  ) => ({ items: page.items, next_cursor: cursorOf(part, page.next), truncated: page.truncated })
  const shownTrace = trace && {
    summary: trace.summary,
    spans: trace.spans,
    next_cursor: cursorOf('spans', trace.spans_next),
    truncated: trace.spans_next !== null || trace.missing_truncated,
    missing: trace.missing,
  }
  return {
    ids,
    ...(traces === null ? {} : { trace: shownTrace, traces: paged('traces', traces) }),
    ...(logs === null ? {} : { logs: paged('logs', logs) }),
    rum_events: paged('rum_events', rumEvents),
    sessions,
    timeline,
    how,
    truncated,
  }
}

const cursorAt = (context: QueryContext, binding: Binding, part: PagedPart, key: WalkKey): string =>
  context.cursors.write(binding, { key: { part, key } })

/** A span of a trace, to find its page. */
export type SpanOfTrace = Readonly<{ traceId: string; spanId: string }>

/** Cursors for the page of the correlation of `search` that shows this span. The first whose page shows it is the right one. */
export async function answerSpanCursors(
  context: QueryContext,
  workspaceId: WorkspaceId,
  search: string,
  span: SpanOfTrace,
): Promise<Result<readonly string[], Refusal>> {
  const binding = bindingOf({ endpoint, workspaceId, search })
  const limit = usualLimits.spans
  const places = await placesOfSpan(context.readerOf(workspaceId), workspaceId, { ...span, limit })
  return ok(places.map((key) => cursorAt(context, binding, 'spans', key)))
}

/** The nearest span with an error after (`asc`) or before (`desc`) a span of a trace. */
export async function answerNearestError(
  context: QueryContext,
  workspaceId: WorkspaceId,
  traceId: string,
  of: Readonly<{ spanId: string; direction: 'asc' | 'desc' }>,
): Promise<Result<string | undefined, Refusal>> {
  return ok(await nearestError(context.readerOf(workspaceId), workspaceId, { traceId, ...of }))
}

/** The most spans that a search within a trace finds: several pages, and no more than an index gives places at once. */
const spansFoundMax = 4_000

/** Spans of a trace in the order of its pages. `isCut`: there are more. `warnings`: what was understood differently than typed. */
export type SpansFound = Readonly<{ spans: readonly FoundSpan[]; isCut: boolean; warnings: readonly string[] }>

/** The spans of a trace that a search of spans finds. */
export async function answerSpansFound(
  context: QueryContext,
  workspaceId: WorkspaceId,
  traceId: string,
  q: string,
): Promise<Result<SpansFound, Refusal>> {
  const understood = understand(q, context.limits)
  if (!understood.ok) return understood
  const { tree, warnings } = understood.value
  const asked = { traceId, query: tree, limit: spansFoundMax + 1 }
  const spans = await spansFound(context.readerOf(workspaceId), workspaceId, asked)
  return ok({ spans: spans.slice(0, spansFoundMax), isCut: spans.length > spansFoundMax, warnings })
}

/** GET /api/app/correlation: everything that shares an identifier with the one given. */
export async function answerCorrelation(
  context: QueryContext,
  workspaceId: WorkspaceId,
  search: string,
): Answered<CorrelationAnswer> {
  const given = readParameters(search, correlationParameters)
  if (!given.ok) return given
  const id = readId(given.value)
  if (!id.ok) return id
  const binding = bindingOf({ endpoint, workspaceId, search })
  const after = readAfter(context, binding, given.value.cursor)
  if (!after.ok) return after
  const { omit, omitted } = lacking(context.directory.workspace(workspaceId))
  const nowMs = context.clock()
  const request = { id: id.value, omit, after: after.value, nowMs }
  const found = await correlate(context.readerOf(workspaceId), workspaceId, request)
  const index = indexState(found.progress, nowMs)
  if (!found.found && index.complete) {
    const { kind, value } = id.value
    return fail(refusal('not_found', `This workspace has never seen the ${kind} ${JSON.stringify(value)}.`, { index }))
  }
  const cursorOf = (part: PagedPart, key: WalkKey | null): string | null =>
    key === null ? null : cursorAt(context, binding, part, key)
  return ok({ ...shape(found, cursorOf), omitted, index })
}
