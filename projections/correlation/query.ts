import { wholeToken } from '#src/events/tokens.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { askInOrder } from '../ask-in-order.ts'
import { join, negate } from '../field-query.ts'
import type { Filter, Hit, IndexQuery, IndexReader, Progress, Scope } from '../index-store.ts'
import type { LogDocument } from '../logs/log-document.ts'
import { logItem, type LogItem } from '../logs/log-item.ts'
import { compareSort } from '../stores/order.ts'
import { readTrace, type TraceRead } from '../traces/read-trace.ts'
import { readTraces, traceSummary, type TraceSummary } from '../traces/trace-answer.ts'
import { sortKeyOf, walkKeyOf, type WalkKey } from '../traces/trace-request.ts'
import { findAnchor, isOneOf, scopeOf, type Anchor, type CorrelationId, type Join } from './anchor.ts'
import type { LinkDocument } from './link-document.ts'
import { readLinks, type Links } from './read-links.ts'
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
export type OmittablePart = 'traces' | 'logs'
export type PagedPart = 'spans' | 'traces' | 'logs' | 'rum_events'

export type CorrelationRequest = Readonly<{
  id: CorrelationId
  /** Parts that the workspace may not see. They are left out, not looked for. */
  omit?: readonly OmittablePart[]
  /** Items of each part; those left out have defaults. */
  limits?: Readonly<Partial<Record<PagedPart, number>>>
  /** Where each part goes on: the `next` of an earlier answer to the same request. */
  after?: Readonly<Partial<Record<PagedPart, WalkKey>>>
}>

/** A page of one part. `truncated` says that there is more, at `next`. */
export type Part<Item> = Readonly<{ items: readonly Item[]; next: WalkKey | null; truncated: boolean }>

/** CONTRACT §6, with cursor keys where the answer has cursors. A part that is left out is null. */
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

const defaults: Readonly<Record<PagedPart, number>> = { spans: 1_000, traces: 50, logs: 100, rum_events: 100 }
const joinsMax = 200

type Read = Readonly<{ reader: IndexReader; workspaceId: WorkspaceId; request: CorrelationRequest }>

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
 * to a trace asked for, just the records that name no other trace.
 */
type Belonging = Readonly<{ named: Filter; linked: Filter; others: readonly string[] }>

function belongingTo({ traceIds, sessionIds, spanIds }: Anchor, { traces, sessions, others }: Links): Belonging {
  const named = [
    isOneOf('trace_id', new Set([...traceIds, ...traces])),
    isOneOf('session_id', sessionIds),
    isOneOf('span_id', spanIds),
  ]
  const onlyLinked = [...sessions.keys()].filter((session) => !sessionIds.has(session))
  const linked = isOneOf('session_id', others === undefined ? [] : onlyLinked)
  return { named: join('or', named), linked, others: others ?? [] }
}

type Ordered = Pick<IndexQuery, 'after' | 'limit'>
type Linkable = Readonly<{ traceId: string | null }>
const traceTerm = (traceId: string): string => wholeToken('trace_id', traceId)

/**
 * The first of these records by time. An index would look each of the other traces up, and a session may have many; but most sessions
 * have few records, which say themselves what they name.
 */
async function findBelonging<D extends Linkable>(
  reader: IndexReader,
  scope: Scope,
  { named, linked, others }: Belonging,
  page: Ordered,
): Promise<readonly Hit<D>[]> {
  const search = (filter: Filter): Promise<readonly Hit<D>[]> =>
    reader.search<D>(scope, { filter, orderBy: 'timeNs', direction: 'asc', ...page })
  const [ofNamed, ofLinked] = await Promise.all([search(named), linked.kind === 'none' ? [] : search(linked)])
  if (ofLinked.length >= page.limit) {
    return search(join('or', [named, join('and', [linked, negate(isOneOf('trace_id', others))])]))
  }
  const elsewhere = new Set(others.map(traceTerm))
  const found = new Map(ofNamed.map((hit) => [hit.id, hit]))
  for (const hit of ofLinked) {
    const { traceId } = hit.document
    if (traceId === null || !elsewhere.has(traceTerm(traceId))) found.set(hit.id, hit)
  }
  return [...found.values()].sort((a, b) => compareSort(a.sort, b.sort)).slice(0, page.limit)
}

async function readRecords<D extends Linkable, Item>(
  { reader, request }: Read,
  part: 'logs' | 'rum_events',
  from: Readonly<{ scope: Scope; belonging: Belonging; item: (hit: Hit<D>) => Item; itself: readonly Hit<D>[] }>,
): Promise<Part<Item>> {
  const limit = request.limits?.[part] ?? defaults[part]
  const after = request.after?.[part]
  const hits = await findBelonging<D>(reader, from.scope, from.belonging, {
    limit: limit + 1,
    ...(after === undefined ? {} : { after: sortKeyOf(after) }),
  })
  const shown = hits.slice(0, limit)
  const last = hits.length > limit ? shown.at(-1) : undefined
  // A record asked for by its id is shown even where it names nothing, or where the first page ends before it.
  const itself = after === undefined ? from.itself.filter(({ id }) => !shown.some((hit) => hit.id === id)) : []
  const items = [...itself, ...shown].map(from.item)
  return { items, next: last === undefined ? null : walkKeyOf(last.sort, 0), truncated: last !== undefined }
}

type Summaries = Readonly<{ all: readonly TraceSummary[]; page: Part<TraceSummary> }>

/** Summaries of the traces, newest first; a page goes on behind the place of the last one. `known` has been read already. */
async function readSummaries(
  read: Read,
  traceIds: ReadonlySet<string>,
  known: TraceSummary | undefined,
): Promise<Summaries> {
  const { reader, workspaceId, request } = read
  const others = [...traceIds].filter((traceId) => traceId !== known?.trace_id)
  const { traces } = await readTraces(reader, workspaceId, others)
  const summaries = [...traces.values()].map((trace) => traceSummary(trace))
  const limit = request.limits?.traces ?? defaults.traces
  const place = (trace: TraceSummary): string => `${trace.start ?? ''}/${trace.trace_id}`
  const all = [...(known === undefined ? [] : [known]), ...summaries].sort((a, b) => (place(a) < place(b) ? 1 : -1))
  const after = request.after?.traces
  const rest = after === undefined ? all : all.filter((trace) => place(trace) < after.id)
  const items = rest.slice(0, limit)
  const last = rest.length > limit ? items.at(-1) : undefined
  const next = last === undefined ? null : { value: '0', id: place(last), since: 0 }
  return { all, page: { items, next, truncated: last !== undefined } }
}

/** A trace with a page of its spans; null for one that nobody has seen. */
async function readSpans({ reader, workspaceId, request }: Read, traceId: string) {
  const after = request.after?.spans
  const page = { limit: request.limits?.spans ?? defaults.spans, ...(after === undefined ? {} : { after }) }
  const trace = await readTrace(reader, workspaceId, traceId, page)
  if (trace === undefined) return null
  const { progress: _progress, ...shown } = trace
  return shown
}

/** The trace asked for, else the newest that holds a span. */
async function readMainTrace(read: Read, anchor: Anchor, { all }: Summaries) {
  const asked = all.find(({ trace_id: traceId }) => anchor.traceIds.has(traceId))
  const main = asked ?? all.find(({ span_count: spans }) => spans > 0)
  return main === undefined ? null : readSpans(read, main.trace_id)
}

/** How the shown records hang together with what was asked. */
function recordJoins(name: string, items: readonly Readonly<{ trace_id: string | null; session_id: string | null }>[]) {
  const joins = new Map<string, Join>()
  for (const { trace_id: traceId, session_id: sessionId } of items) {
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
  const links = await readLinks(reader, workspaceId, anchor)
  const belonging = belongingTo(anchor, links)
  const [logs, rumEvents] = await Promise.all([
    readRecords<LogDocument, LogItem>(read, 'logs', {
      scope: scopeOf(workspaceId, 'logs', 'logs'),
      belonging,
      item: (hit) => logItem(hit),
      itself: [...anchor.logs.values()],
    }),
    readRecords<RumEventDocument, RumEventItem>(read, 'rum_events', {
      scope: scopeOf(workspaceId, 'correlation', 'rumEvents'),
      belonging,
      item: rumEventItem,
      itself: [...anchor.rumEvents.values()],
    }),
  ])
  return { links, logs, rumEvents }
}

/** All parts of an answer. A trace that is asked for alone is read while its records are: it will be the one that is shown. */
async function readParts(read: Read) {
  const { reader, workspaceId, request } = read
  const anchor = await findAnchor(reader, workspaceId, request.id)
  const [only, ...more] = omits(read, 'traces') ? [] : anchor.traceIds
  const [asked, { links, logs, rumEvents }] = await askInOrder(reader, [
    async () => (only === undefined || more.length > 0 ? null : readSpans(read, only)),
    () => readLinked(read, anchor),
  ])
  const traces = await readSummaries(read, new Set([...anchor.traceIds, ...links.traces]), asked?.summary)
  const trace = asked ?? (omits(read, 'traces') ? null : await readMainTrace(read, anchor, traces))
  return { anchor, links, logs, rumEvents, traces, trace }
}

/**
 * Everything that shares an identifier with what was asked (CONTRACT §6): a trace gives its spans, its logs, its browser
 * events and its sessions; a session gives all its traces, and through them their logs. Nothing is joined by time.
 */
export async function correlate(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  request: CorrelationRequest,
): Promise<Correlation> {
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
    ...recordJoins('logs', shown.logs?.items ?? []),
    ...recordJoins('rum_events', rumEvents.items),
  ]
  const sessionIds = [...new Set([...anchor.sessionIds, ...links.sessions.keys()])]
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
      cut || links.truncated || how.length > joinsMax || trace?.spans_next != null || trace?.missing_truncated === true,
    progress,
  }
}
