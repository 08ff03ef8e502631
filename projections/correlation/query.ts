import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexReader, Progress } from '../index-store.ts'
import type { LogItem } from '../logs/log-item.ts'
import { askInOrder } from '../reading/ask-in-order.ts'
import { readTrace, type TraceRead } from '../traces/read-trace.ts'
import { traceIdOfSpanRecord } from '../traces/span-document.ts'
import { readTraces } from '../traces/read-traces.ts'
import { traceSummary, type TraceSummary } from '../traces/trace-answer.ts'
import { findAnchor, type Anchor, type Join } from './anchor.ts'
import {
  charactersOf,
  omits,
  usualLimits,
  type CorrelationRequest,
  type Part,
  type Read,
} from './correlation-request.ts'
import type { LinkDocument } from './link-document.ts'
import { progressOf } from './progress-of.ts'
import type { Links } from './read-links.ts'
import { readLinked } from './read-records.ts'
import type { RumEventItem } from './rum-event-document.ts'
import { timelineOf, type TimelineEntry } from './timeline.ts'

export { usualLimits, type CorrelationRequest, type PagedPart } from './correlation-request.ts'
export type { CorrelationId } from './anchor.ts'
export { isErrorEvent } from './rum-event-document.ts'
export { searchSessions, type SessionPage } from './search-sessions.ts'
export type { WalkKey } from '../traces/trace-request.ts'

/** The parts of an answer, with sort keys instead of cursors. An omitted part is null. */
export type Correlation = Readonly<{
  /** False only for an identifier that this workspace has never seen. */
  found: boolean
  ids: Readonly<{
    trace_ids: readonly string[]
    session_ids: readonly string[]
    span_ids: readonly string[]
    log_ids: readonly string[]
  }>
  /** The requested trace, or else the newest of the session. */
  trace: Omit<TraceRead, 'progress'> | null
  /** All traces found, newest first. */
  traces: Part<TraceSummary> | null
  logs: Part<LogItem> | null
  rum_events: Part<RumEventItem>
  sessions: readonly Readonly<{ session_id: string; linked_by: readonly LinkDocument['by'][] }>[]
  timeline: readonly TimelineEntry[]
  how: readonly Join[]
  /** Some part holds more than is shown. */
  truncated: boolean
  /** The combined progress of traces, logs and links. */
  progress: Progress | undefined
}>

const joinsMax = 200
/** The most sessions that are shown; all are searched. */
const sessionsShownMax = 1_000
/** A reader that asks for the progress of an index only once per answer: the first reply holds for everything that is read after it. */
function askingProgressOnce(reader: IndexReader): IndexReader {
  const asked = new Map<string, Promise<Progress | undefined>>()
  return {
    ...reader,
    progress(projection) {
      const progress = asked.get(projection) ?? reader.progress(projection)
      asked.set(projection, progress)
      return progress
    },
  }
}

/** `main`: the newest requested trace, or else the newest that holds a span. */
type Summaries = Readonly<{ main: TraceSummary | undefined; page: Part<TraceSummary> }>

/** How many of a session's traces, which may be ten thousand, are in memory at once in addition to those of the page. */
const tracesReadAtOnce = 100

const placeOf = (trace: TraceSummary): string => `${trace.start ?? ''}/${trace.trace_id}`
const newestFirst = (a: TraceSummary, b: TraceSummary): number => (placeOf(a) < placeOf(b) ? 1 : -1)

/** Keeps the newest `count` of the added traces that fit. */
function createNewest(count: number, fits: (trace: TraceSummary) => boolean) {
  let newest: readonly TraceSummary[] = []
  return {
    add(this: void, traces: readonly TraceSummary[]): void {
      newest = [...newest, ...traces.filter(fits)].sort(newestFirst).slice(0, count)
    },
    all: (): readonly TraceSummary[] => newest,
  }
}

/** The first items, up to a number of characters of JSON; at least one item. */
function fitting<Item extends object>(items: readonly Item[], charactersMax: number): readonly Item[] {
  let characters = 0
  const end = items.findIndex((item, at) => (characters += JSON.stringify(item).length) > charactersMax && at > 0)
  return end === -1 ? items : items.slice(0, end)
}

/** Summaries of the traces, newest first. `known` was read already. */
async function readSummaries(
  read: Read,
  { traceIds, isCut }: Anchor,
  links: Links,
  known: TraceSummary | undefined,
): Promise<Summaries> {
  const { reader, workspaceId, request } = read
  const limit = request.limits?.traces ?? usualLimits.traces
  const after = request.after?.traces
  const page = createNewest(limit + 1, (trace) => after === undefined || placeOf(trace) < after.id)
  const asked = createNewest(1, (trace) => traceIds.has(trace.trace_id))
  const withSpans = createNewest(1, (trace) => trace.span_count > 0)
  const add = (traces: readonly TraceSummary[]): void => [page, asked, withSpans].forEach((each) => each.add(traces))
  if (known !== undefined) add([known])
  const others = [...new Set([...traceIds, ...links.traces])].filter((traceId) => traceId !== known?.trace_id)
  for (let from = 0; from < others.length; from += tracesReadAtOnce) {
    const { traces } = await readTraces(reader, workspaceId, others.slice(from, from + tracesReadAtOnce))
    add([...traces.values()].map((trace) => traceSummary(trace)))
  }
  const items = fitting(page.all().slice(0, limit), charactersOf.traces)
  const last = page.all().length > items.length ? items.at(-1) : undefined
  const next = last === undefined ? null : { value: '0', id: placeOf(last), since: 0 }
  const [main] = [...asked.all(), ...withSpans.all()]
  return { main, page: { items, next, truncated: isCut || links.moreTraces || last !== undefined } }
}

/** A trace with a page of its spans; null if it is unknown. */
async function readSpans({ reader, workspaceId, request }: Read, traceId: string) {
  const limit = request.limits?.spans ?? usualLimits.spans
  const page = { limit, charactersMax: charactersOf.spans, after: request.after?.spans, nowMs: request.nowMs }
  const trace = await readTrace(reader, workspaceId, traceId, page)
  if (trace === undefined) return null
  const { progress: _progress, ...shown } = trace
  return shown
}

const readMain = async (read: Read, { main }: Summaries) => (main === undefined ? null : readSpans(read, main.trace_id))

type Naming = Readonly<{ trace_id: string | null; session_id: string | null; span_id: string | null }>

/** How the shown records are joined with what was asked for. */
function recordJoins({ spanIds }: Anchor, name: string, items: readonly Naming[]) {
  const joins = new Map<string, Join>()
  for (const { trace_id: traceId, session_id: sessionId, span_id: spanId } of items) {
    if (spanId !== null && spanIds.has(spanId))
      joins.set(`p${spanId}`, { from: `span:${spanId}`, to: name, by: 'span_id' })
    if (traceId !== null) joins.set(`t${traceId}`, { from: `trace:${traceId}`, to: name, by: 'trace_id' })
    else if (sessionId !== null)
      joins.set(`s${sessionId}`, { from: `session:${sessionId}`, to: name, by: 'session_id' })
  }
  return [...joins.values()]
}

/** Whether the workspace has ever seen the identifier: a span, a log, a browser event or a refusal has it. */
function isFound(anchor: Anchor, parts: readonly Readonly<{ items: readonly unknown[] }>[], links: Links): boolean {
  const itself = anchor.logs.size + anchor.rumEvents.size
  return itself > 0 || links.sessions.size > 0 || parts.some(({ items }) => items.length > 0)
}

/** All parts of an answer. If one trace is asked for, it is read together with its records, because it will be shown. */
async function readParts(read: Read) {
  const { reader, workspaceId, request } = read
  const anchor = await findAnchor(reader, workspaceId, request.id)
  // A next page of spans is of the same trace as the first, even if there is a newer trace by now.
  const begun = request.after?.spans
  const shown = begun === undefined ? anchor.traceIds : [traceIdOfSpanRecord(begun.id)]
  const hasTrace = !omits(read, 'traces')
  const [only, ...more] = hasTrace ? shown : []
  const [asked, { links, logs, rumEvents }] = await askInOrder(reader, [
    async () => (only === undefined || more.length > 0 ? null : readSpans(read, only)),
    () => readLinked(read, anchor),
  ])
  const traces = await readSummaries(read, anchor, links, asked?.summary)
  const trace = asked ?? (hasTrace && begun === undefined ? await readMain(read, traces) : null)
  return { anchor, links, logs, rumEvents, traces, trace }
}

/**
 * Finds everything that shares an identifier with the given one: for a trace its spans, logs, browser events and sessions; for a session all its
 * traces, and through them their logs. Nothing is joined by time.
 */
export async function correlate(
  given: IndexReader,
  workspaceId: WorkspaceId,
  request: CorrelationRequest,
): Promise<Correlation> {
  const reader = askingProgressOnce(given)
  const read = { reader, workspaceId, request }
  const [progress, { anchor, links, logs, rumEvents, traces, trace }] = await askInOrder(reader, [
    () => progressOf(reader, ['traces', 'logs', 'correlation']),
    () => readParts(read),
  ])
  const shown = {
    trace,
    traces: omits(read, 'traces') ? null : traces.page,
    logs: omits(read, 'logs') ? null : logs,
    rum_events: rumEvents,
  }
  const how = [
    ...anchor.how,
    ...links.how,
    ...recordJoins(anchor, 'logs', shown.logs?.items ?? []),
    ...recordJoins(anchor, 'rum_events', rumEvents.items),
  ]
  const allSessions = [...new Set([...anchor.sessionIds, ...links.sessions.keys()])]
  const sessionIds = allSessions.slice(0, sessionsShownMax)
  const cut = [shown.traces, shown.logs, rumEvents].some((part) => part?.truncated === true)
  return {
    found: isFound(anchor, [logs, rumEvents, traces.page], links),
    ids: {
      trace_ids: [...new Set([...anchor.traceIds, ...links.traces])],
      session_ids: sessionIds,
      span_ids: [...anchor.spanIds],
      log_ids: [...anchor.logs.keys()],
    },
    ...shown,
    sessions: sessionIds.map((id) => ({ session_id: id, linked_by: [...(links.sessions.get(id) ?? [])] })),
    timeline: timelineOf(shown),
    how: how.slice(0, joinsMax),
    truncated:
      cut ||
      sessionIds.length < allSessions.length ||
      how.length > joinsMax ||
      trace?.spans_next != null ||
      trace?.missing_truncated === true,
    progress,
  }
}
