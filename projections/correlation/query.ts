import { wholeToken } from '#src/events/tokens.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { askInOrder } from '../ask-in-order.ts'
import { isOneOf, join, negate } from '../filters.ts'
import type { Filter, Hit, IndexReader, Progress, Scope } from '../index-store.ts'
import { hasMore, pageCharactersMax } from '../page-size.ts'
import type { LogDocument } from '../logs/log-document.ts'
import { logItem, type LogItem } from '../logs/log-item.ts'
import { logsScope } from '../logs/log-selection.ts'
import { compareSort } from '../stores/order.ts'
import { readTrace, type TraceRead } from '../traces/read-trace.ts'
import { readTraces, traceSummary, type TraceSummary } from '../traces/trace-answer.ts'
import { traceIdOfSpanRecord } from '../traces/span-document.ts'
import { sortKeyOf, walkKeyOf, type WalkKey } from '../traces/trace-request.ts'
import { correlationScope, findAnchor, isOfSessions, type Anchor, type CorrelationId, type Join } from './anchor.ts'
import type { LinkDocument } from './link-document.ts'
import { readLinks, readOtherTraces, type Links, type OtherTraces } from './read-links.ts'
import { rumEventItem, type RumEventDocument, type RumEventItem } from './rum-event-document.ts'
import { timelineOf, type TimelineEntry } from './timeline.ts'

export type { CorrelationId, Join } from './anchor.ts'
export type { RumEventItem } from './rum-event-document.ts'
export type { TimelineEntry } from './timeline.ts'
export type { LogItem } from '../logs/log-item.ts'
export type { TraceRead } from '../traces/read-trace.ts'
export type { TraceSummary } from '../traces/trace-answer.ts'
export type { WalkKey } from '../traces/trace-request.ts'

/** Parts that can be left out, and parts that can be paged. */
type OmittablePart = 'traces' | 'logs'
export type PagedPart = 'spans' | 'traces' | 'logs' | 'rum_events'

export type CorrelationRequest = Readonly<{
  id: CorrelationId
  /** Parts that the workspace may not see. They are left out, not looked for. */
  omit?: readonly OmittablePart[]
  /** Items of each part; those left out have usualLimits. */
  limits?: Readonly<Partial<Record<PagedPart, number>>>
  /** Where each part goes on: the `next` of an earlier answer to the same request. */
  after?: Readonly<Partial<Record<PagedPart, WalkKey>>>
  /** The time of the request: what an index that nobody folds then does not hold may still come. */
  nowMs?: number
}>

/** A page of one part. `truncated` says that there is more: at `next`, or (it is null) more than is looked up. */
type Part<Item> = Readonly<{ items: readonly Item[]; next: WalkKey | null; truncated: boolean }>

/** The parts of the answer, with sort keys in the place of cursors. A part that is left out is null. */
export type Correlation = Readonly<{
  /** False only for an identifier that this workspace has never seen. */
  found: boolean
  ids: Readonly<{
    trace_ids: readonly string[]
    session_ids: readonly string[]
    span_ids: readonly string[]
    log_ids: readonly string[]
  }>
  /** The trace asked for, else the newest of the session. */
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
  /** Of the index that is furthest behind. */
  progress: Progress | undefined
}>

/** Items of each part of an answer whose request names no other number. */
export const usualLimits: Readonly<Record<PagedPart, number>> = { spans: 1_000, traces: 50, logs: 100, rum_events: 100 }
const joinsMax = 200
/** Of a trace, sessions that are shown; all are looked through. */
const sessionsShownMax = 1_000
/**
 * Characters of JSON of each part. All together, with what spans share, which counts as much as they do, are one page (page-size.ts): an
 * answer counts as a query that has one.
 */
const charactersOf: Readonly<Record<PagedPart, number>> = {
  spans: pageCharactersMax / 4,
  traces: pageCharactersMax / 16,
  logs: pageCharactersMax / 8,
  rum_events: pageCharactersMax / 8,
}

type Read = Readonly<{ reader: IndexReader; workspaceId: WorkspaceId; request: CorrelationRequest }>

/** A reader that asks once how far an index is, for all of one answer: what was said first holds for what is read after it. */
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

/** How far the indexes are that an answer is made of: the one furthest behind speaks for all. */
async function slowest(reader: IndexReader): Promise<Progress | undefined> {
  const all = await Promise.all(['traces', 'logs', 'correlation'].map((name) => reader.progress(name)))
  let last: Progress | undefined
  for (const progress of all) {
    if (progress === undefined) return undefined
    if (last === undefined || progress.position < last.position) last = progress
  }
  return last
}

/**
 * Records that belong to what was found: those that name one of its traces or sessions (`named`); of sessions that are only `linked`
 * to a trace asked for, just the records that name none of the `others`.
 */
type Belonging = Readonly<{ named: Filter; linked: Filter; others: Promise<OtherTraces> }>

const namedBy = ({ traceIds, sessionIds, spanIds }: Anchor, traces: ReadonlySet<string>): Filter =>
  join('or', [
    isOneOf('trace_id', new Set([...traceIds, ...traces])),
    isOfSessions(sessionIds),
    isOneOf('span_id', spanIds),
  ])

type Linkable = Readonly<{ traceId: string | null }>
const traceTerm = (traceId: string): string => wholeToken('trace_id', traceId)

/** One kind of record, by time, behind the place of a page. */
function createRecordSearch<D extends Linkable>({ reader, request }: Read, part: 'logs' | 'rum_events', scope: Scope) {
  const limit = request.limits?.[part] ?? usualLimits[part]
  const after = request.after?.[part]
  const page = { limit: limit + 1, charactersMax: charactersOf[part], after: after && sortKeyOf(after) }
  const search = async (filter: Filter): Promise<readonly Hit<D>[]> =>
    filter.kind === 'none' ? [] : reader.search<D>(scope, { filter, orderBy: 'timeNs', direction: 'asc', ...page })
  return { limit, isFirst: after === undefined, search }
}
type RecordSearch<D extends Linkable> = ReturnType<typeof createRecordSearch<D>>

/**
 * The first of these records by time. An index would look each of the other traces up, and a session may have many; but most sessions
 * have few records, which say themselves what they name.
 */
async function findBelonging<D extends Linkable>(
  { search, limit }: RecordSearch<D>,
  belonging: Belonging,
  named: Promise<readonly Hit<D>[]>,
): Promise<readonly Hit<D>[]> {
  const [ofNamed, ofLinked, others] = await Promise.all([named, search(belonging.linked), belonging.others])
  if (others === undefined) return ofNamed
  // Of two of which one ends early, what comes behind its end may not be shown yet.
  if (hasMore(ofLinked, limit) || ofNamed.at(-1)?.endsForSize === true) {
    const linked = join('and', [belonging.linked, negate(isOneOf('trace_id', others))])
    return search(join('or', [belonging.named, linked]))
  }
  const elsewhere = new Set(others.map(traceTerm))
  const found = new Map(ofNamed.map((hit) => [hit.id, hit]))
  for (const hit of ofLinked) {
    const { traceId } = hit.document
    if (traceId === null || !elsewhere.has(traceTerm(traceId))) found.set(hit.id, hit)
  }
  return [...found.values()].sort((a, b) => compareSort(a.sort, b.sort)).slice(0, limit + 1)
}

async function partOf<D extends Linkable, Item>(
  { limit, isFirst }: RecordSearch<D>,
  hits: readonly Hit<D>[],
  itself: ReadonlyMap<string, Hit<D>>,
  item: (hit: Hit<D>) => Item,
  isCut: boolean,
): Promise<Part<Item>> {
  const shown = hits.slice(0, limit)
  const last = hasMore(hits, limit) ? shown.at(-1) : undefined
  // A record asked for by its id is on the first page even where it names nothing, or where that page ends before it, and on no other.
  const items = isFirst
    ? [...[...itself.values()].filter(({ id }) => !shown.some((hit) => hit.id === id)), ...shown]
    : shown.filter(({ id }) => !itself.has(id))
  const next = last === undefined ? null : walkKeyOf(last.sort, 0)
  return { items: await mapInTurns(items, item), next, truncated: isCut || last !== undefined }
}

/** `main`: the newest trace that was asked for, else the newest that holds a span. */
type Summaries = Readonly<{ main: TraceSummary | undefined; page: Part<TraceSummary> }>

/** Of ten thousand traces of a session so many are held at once, and those of the page. */
const tracesReadAtOnce = 100

const placeOf = (trace: TraceSummary): string => `${trace.start ?? ''}/${trace.trace_id}`
const newestFirst = (a: TraceSummary, b: TraceSummary): number => (placeOf(a) < placeOf(b) ? 1 : -1)

/** Keeps the newest traces that fit of those that it is given, at most `count`. */
function createNewest(count: number, fits: (trace: TraceSummary) => boolean) {
  let newest: readonly TraceSummary[] = []
  return {
    add(this: void, traces: readonly TraceSummary[]): void {
      newest = [...newest, ...traces.filter(fits)].sort(newestFirst).slice(0, count)
    },
    all: (): readonly TraceSummary[] => newest,
  }
}

/** The first that come to no more than so many characters of JSON, one at least. */
function fitting<Item extends object>(items: readonly Item[], charactersMax: number): readonly Item[] {
  let characters = 0
  const end = items.findIndex((item, at) => (characters += JSON.stringify(item).length) > charactersMax && at > 0)
  return end === -1 ? items : items.slice(0, end)
}

/** Summaries of the traces, newest first; a page goes on behind the place of the last one. `known` has been read already. */
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

/** A trace with a page of its spans; null for one that nobody has seen. */
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

/** How the shown records hang together with what was asked. */
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

/** Whether the workspace has ever seen what was asked: a span, a log or a browser event names it, or a refusal. */
function isFound(anchor: Anchor, parts: readonly Readonly<{ items: readonly unknown[] }>[], links: Links): boolean {
  const itself = anchor.logs.size + anchor.rumEvents.size
  return itself > 0 || links.sessions.size > 0 || parts.some(({ items }) => items.length > 0)
}

const omits = ({ request }: Read, part: OmittablePart): boolean => request.omit?.includes(part) === true

/** How the records of an answer hang together, and those records. */
async function readLinked(read: Read, anchor: Anchor) {
  const { reader, workspaceId } = read
  const logs = createRecordSearch<LogDocument>(read, 'logs', logsScope(workspaceId))
  const scope = correlationScope(workspaceId, 'rumEvents')
  const rumEvents = createRecordSearch<RumEventDocument>(read, 'rum_events', scope)
  const searchNamed = (named: Filter) => [logs.search(named), rumEvents.search(named)] as const
  // Only a session asked for has traces that are not known yet; what names the others is asked for together with the links.
  const early = anchor.sessionIds.size > 0 ? undefined : searchNamed(namedBy(anchor, new Set()))
  const [links] = await Promise.all([readLinks(reader, workspaceId, anchor), ...(early ?? [])])
  const sessions = [...links.sessions.keys()].filter((session) => !anchor.sessionIds.has(session))
  const named = namedBy(anchor, links.traces)
  const [namedLogs, namedRumEvents] = early ?? searchNamed(named)
  const others = readOtherTraces(reader, workspaceId, sessions, anchor)
  const belonging = { named, linked: isOfSessions(sessions), others }
  const [foundLogs, foundRumEvents, found] = await Promise.all([
    findBelonging(logs, belonging, namedLogs),
    findBelonging(rumEvents, belonging, namedRumEvents),
    others,
  ])
  const isCut = anchor.isCut || links.moreTraces || links.moreSessions || found === undefined
  return {
    links,
    logs: await partOf(logs, foundLogs, anchor.logs, (hit): LogItem => logItem(hit), isCut),
    rumEvents: await partOf(rumEvents, foundRumEvents, anchor.rumEvents, rumEventItem, isCut),
  }
}

/** All parts of an answer. A trace that is asked for alone is read while its records are: it will be the one that is shown. */
async function readParts(read: Read) {
  const { reader, workspaceId, request } = read
  const anchor = await findAnchor(reader, workspaceId, request.id)
  // Spans go on in the trace that they began in, whichever is the newest by now.
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
 * Everything that shares an identifier with what was asked: a trace gives its spans, its logs, its browser
 * events and its sessions; a session gives all its traces, and through them their logs. Nothing is joined by time.
 */
export async function correlate(
  given: IndexReader,
  workspaceId: WorkspaceId,
  request: CorrelationRequest,
): Promise<Correlation> {
  const reader = askingProgressOnce(given)
  const read = { reader, workspaceId, request }
  const [progress, { anchor, links, logs, rumEvents, traces, trace }] = await askInOrder(reader, [
    () => slowest(reader),
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
