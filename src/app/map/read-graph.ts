import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { CorrelationAnswer } from '#src/query/searches.ts'
import type { AppContext } from '../context.ts'
import { isMissingCut, missingOf } from '../missing-spans.ts'
import type { ShownTrace } from '../search/trace-rows.ts'
import { callTarget } from './call-target.ts'
import { serviceGraph, type MapSpan, type MapTrace, type ServiceGraph } from './service-graph.ts'

/** The most traces of a map. */
export const tracesMax = 100
/** The most spans that are read of a trace: as many as one answer has. */
export const spansOfTraceMax = 1_000
/** The most spans of all traces together; later traces are left out. */
const spansMax = 10_000
/** Traces that are read at once: the page is one of many queries of its workspace. */
const readAtOnce = 4

type ShownSpan = NonNullable<CorrelationAnswer['trace']>['spans'][number]

/** What is kept of a span. `isSettled`: everything below it is known. */
const mapSpan = (span: ShownSpan, isSettled: boolean): MapSpan => ({
  traceId: span.trace_id,
  spanId: span.span_id,
  parentId: span.parent_span_id,
  service: span.service,
  kind: span.kind,
  isError: span.status.code === 'error',
  durationNs: BigInt(span.duration_ns),
  links: span.links.map(({ trace_id: traceId, span_id: spanId }) => ({ traceId, spanId })),
  target: isSettled && ['client', 'producer', 'consumer'].includes(span.kind) ? callTarget(span.attributes) : undefined,
})

/** `missingSpans`: how many spans of it are known to be missing, or with `isMissingCut` at least are. */
type ReadTrace = MapTrace & Readonly<{ missingSpans: number; isMissingCut: boolean }>

/**
 * Spans are in the order of their starts. If a trace has more spans, a call by one of these may begin after the last that was read, unless the caller
 * had ended by then.
 */
function mapTrace(trace: NonNullable<CorrelationAnswer['trace']>): ReadTrace {
  const { spans, missing, next_cursor: next } = trace
  const { listed, unlisted } = missingOf(trace)
  const isWhole = next === null
  const until = spans.at(-1)?.start ?? ''
  return {
    spans: spans.map((span) => mapSpan(span, isWhole || span.end < until)),
    isWhole,
    missing: new Set(missing.map(({ span_id: spanId }) => spanId)),
    missingSpans: listed + unlisted,
    isMissingCut: isMissingCut(trace),
  }
}

/** The first of these traces that may be read together. */
function fitting(traces: readonly ShownTrace[]): readonly ShownTrace[] {
  let spans = 0
  const end = traces.findIndex(({ span_count: count }) => {
    spans += Math.min(count, spansOfTraceMax)
    return spans > spansMax
  })
  return end === -1 ? traces : traces.slice(0, end)
}

/** A trace as far as it is read; undefined if it is no longer stored. */
async function readTrace(
  { searches }: AppContext,
  workspaceId: WorkspaceId,
  traceId: string,
): Promise<Result<ReadTrace | undefined, Refusal>> {
  const found = await searches.correlation(workspaceId, new URLSearchParams({ trace_id: traceId }).toString())
  if (!found.ok) return found.error.code === 'not_found' ? ok(undefined) : found
  const { trace } = found.value
  return ok(trace == null ? undefined : mapTrace(trace))
}

/** The map, how many traces and spans it shows, how many of the traces have more spans, and how many of their spans are missing. */
export type GraphRead = Readonly<{ graph: ServiceGraph; traces: number; spans: number; cutTraces: number }> &
  Pick<ReadTrace, 'missingSpans' | 'isMissingCut'>

/** The map of the first of these traces, which are read a few at a time. */
export async function readGraph(
  app: AppContext,
  workspaceId: WorkspaceId,
  listed: readonly ShownTrace[],
): Promise<Result<GraphRead, Refusal>> {
  const asked = fitting(listed)
  const read: ReadTrace[] = []
  for (let at = 0; at < asked.length; at += readAtOnce) {
    const together = asked.slice(at, at + readAtOnce)
    for (const found of await Promise.all(together.map((trace) => readTrace(app, workspaceId, trace.trace_id)))) {
      if (!found.ok) return found
      if (found.value !== undefined) read.push(found.value)
    }
  }
  return ok({
    graph: await serviceGraph(read),
    traces: read.length,
    spans: read.reduce((sum, { spans }) => sum + spans.length, 0),
    cutTraces: read.filter(({ isWhole }) => !isWhole).length,
    missingSpans: read.reduce((sum, { missingSpans }) => sum + missingSpans, 0),
    isMissingCut: read.some((trace) => trace.isMissingCut),
  })
}
