import { askedSpanId, askedTraceId } from '#src/events/ids.ts'
import { opaqueId } from '#src/events/tokens.ts'
import { parseTraceparent } from '#src/events/traceparent.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Filter, Hit, IndexReader, Scope, SortKey } from '../index-store.ts'
import type { LogDocument } from '../logs/log-document.ts'
import { logsScope } from '../logs/log-selection.ts'
import { timeOfRecordId } from '../projection.ts'
import { askInOrder } from '../reading/ask-in-order.ts'
import { isOneOf, join, negate } from '../reading/filters.ts'
import { isAll, pageCharactersMax } from '../reading/page-size.ts'
import { isStored, traceIdOfSpanRecord } from '../traces/span-document.ts'
import { tracesScope } from '../traces/read-traces.ts'
import { traceIdOfPart } from '../traces/trace-part.ts'
import type { RumEventDocument } from './rum-event-document.ts'

/** What is looked up: an identifier of one kind, or (`id`) of any kind that it has the form of. */
export type CorrelationId = Readonly<{
  kind: 'trace_id' | 'traceparent' | 'session_id' | 'span_id' | 'log_id' | 'id'
  value: string
}>

/** Why two things belong together: one has an identifier of the other. They are named `trace:…`, `session:…`, `span:…`, `log:…`. */
export type Join = Readonly<{ from: string; to: string; by: string }>

/** What an identifier stands for in this workspace. */
export type Anchor = {
  readonly traceIds: Set<string>
  readonly sessionIds: Set<string>
  readonly spanIds: Set<string>
  readonly logs: Map<string, Hit<LogDocument>>
  readonly rumEvents: Map<string, Hit<RumEventDocument>>
  readonly how: Join[]
  /** More traces have this span id than are looked up. */
  isCut: boolean
}

/**
 * A span id is looked up in at most this many traces, and this many records of each kind. No further records are read of a trace that is already
 * known.
 */
const sharedTracesMax = 100
const sharedRecordsMax = 500
const sharedPageMax = 100

export const correlationScope = (workspaceId: WorkspaceId, collection: 'rumEvents' | 'links'): Scope => ({
  workspaceId,
  projection: 'correlation',
  collection,
})

export const isOfSessions = (sessionIds: Iterable<string>): Filter =>
  isOneOf('session_id', [...sessionIds].map(opaqueId))

const emptyAnchor = (): Anchor => ({
  traceIds: new Set(),
  sessionIds: new Set(),
  spanIds: new Set(),
  logs: new Map(),
  rumEvents: new Map(),
  how: [],
  isCut: false,
})

function addTraceparent(anchor: Anchor, value: string): void {
  const parsed = parseTraceparent(value.toLowerCase())
  if (parsed === undefined) return
  anchor.traceIds.add(parsed.traceId)
  anchor.how.push({ from: 'traceparent', to: `trace:${parsed.traceId}`, by: 'traceparent' })
}

/** Adds a record's trace, or else its session. */
function follow(
  anchor: Anchor,
  from: string,
  { traceId = null, sessionId = null }: Pick<LogDocument, 'traceId' | 'sessionId'>,
): void {
  if (traceId !== null) {
    anchor.traceIds.add(traceId)
    anchor.how.push({ from, to: `trace:${traceId}`, by: 'trace_id' })
  }
  if (sessionId === null) return
  if (traceId === null) anchor.sessionIds.add(sessionId)
  anchor.how.push({ from, to: `session:${sessionId}`, by: 'session_id' })
}

/** A record that names a span: its place and its trace; null if it has none. */
type Naming = Readonly<{ sort: SortKey; traceId: string | null }>
type NamingPage = Readonly<{ found: readonly Naming[]; isAll: boolean }>
type Page = Readonly<{ filter: Filter; limit: number; after: SortKey | undefined }>

/** The traces that records name, and whether there may be more. */
type NamedTraces = Readonly<{ traceIds: ReadonlySet<string | null>; isCut: boolean }>

/** The traces of these records, page by page. Each page leaves out records of traces that are known already. */
async function tracesNamed(named: Filter, read: (page: Page) => Promise<NamingPage>): Promise<NamedTraces> {
  const traceIds = new Set<string | null>()
  let after: SortKey | undefined
  for (let rest = sharedRecordsMax; rest > 0 && traceIds.size <= sharedTracesMax;) {
    const known = [...traceIds].filter((traceId) => traceId !== null)
    const filter = join('and', [named, negate(isOneOf('trace_id', known))])
    const limit = Math.min(rest, sharedPageMax)
    const { found, isAll: isEnd } = await read({ filter, limit, after })
    for (const { traceId } of found) traceIds.add(traceId)
    if (isEnd) return { traceIds, isCut: false }
    rest -= found.length
    after = found.at(-1)?.sort
  }
  return { traceIds, isCut: true }
}

/** The first of these traces, up to the limit. */
function firstTraces(all: readonly NamedTraces[]): NamedTraces {
  const traceIds = [...new Set(all.flatMap((named) => [...named.traceIds]))]
  const isCut = traceIds.length > sharedTracesMax || all.some((named) => named.isCut)
  return { traceIds: new Set(traceIds.slice(0, sharedTracesMax)), isCut }
}

function createLookups(reader: IndexReader, workspaceId: WorkspaceId) {
  const scopes = {
    spans: tracesScope(workspaceId, 'spans'),
    parts: tracesScope(workspaceId, 'parts'),
    traces: tracesScope(workspaceId, 'traces'),
    logs: logsScope(workspaceId),
    rumEvents: correlationScope(workspaceId, 'rumEvents'),
    links: correlationScope(workspaceId, 'links'),
  }
  const newest = { orderBy: 'timeNs', direction: 'desc' } as const
  /** For collections whose ids contain the trace id. Reads no documents, which may have a megabyte each. */
  const tracesOfIds = (scope: Scope, named: Filter, traceIdOf: (id: string) => string): Promise<NamedTraces> =>
    tracesNamed(named, async (page) => {
      const places = await reader.places(scope, { ...newest, ...page })
      return {
        found: places.map((sort) => ({ sort, traceId: traceIdOf(sort.id) })),
        isAll: places.length < page.limit,
      }
    })

  /** For other collections. Reads documents, which together may have a hundred megabytes. */
  const tracesOfRecords = (scope: Scope, named: Filter): Promise<NamedTraces> =>
    tracesNamed(named, async (page) => {
      const query = { ...newest, ...page, charactersMax: pageCharactersMax }
      const hits = await reader.search<LogDocument | RumEventDocument>(scope, query)
      const found = hits.map(({ sort, document }) => ({ sort, traceId: document.traceId ?? null }))
      return { found, isAll: isAll(hits, page.limit) }
    })

  return {
    /**
     * The traces in which a span of this id is stored, named as a parent, or refused, or that a record names together with it. Includes null if a
     * record names no trace.
     */
    async tracesOfSpan(spanId: string): Promise<NamedTraces> {
      const itself = isOneOf('span_id', [spanId])
      const named = join('or', [itself, isOneOf('parent_span_id', [spanId])])
      const refused = isOneOf('refused_span_id', [spanId])
      return firstTraces(
        await askInOrder(reader, [
          () => tracesOfIds(scopes.spans, join('and', [named, isStored]), traceIdOfSpanRecord),
          () => tracesOfIds(scopes.parts, refused, traceIdOfPart),
          () => tracesOfRecords(scopes.logs, itself),
          () => tracesOfRecords(scopes.rumEvents, itself),
        ]),
      )
    },
    record: async <D extends object>(collection: 'logs' | 'rumEvents', id: string): Promise<Hit<D> | undefined> =>
      timeOfRecordId(id) === undefined ? undefined : (await reader.get<D>(scopes[collection], [id]))[0],
    /** Whether anything matches. */
    async isKnown(named: Filter): Promise<boolean> {
      for (const scope of [scopes.links, scopes.traces, scopes.logs, scopes.rumEvents]) {
        if ((await reader.places(scope, { ...newest, filter: named, limit: 1 })).length > 0) return true
      }
      return false
    },
  }
}

/** Resolves an identifier to the traces, sessions, spans and records that it stands for, by shared identifiers only. */
export async function findAnchor(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  { kind, value }: CorrelationId,
): Promise<Anchor> {
  const anchor = emptyAnchor()
  const lookups = createLookups(reader, workspaceId)
  const any = kind === 'id'

  /** A span of an identifier without a given kind must be known. */
  async function addSpan(spanId: string | undefined): Promise<void> {
    if (spanId === undefined) return
    const { traceIds, isCut } = await lookups.tracesOfSpan(spanId)
    if (any && traceIds.size === 0) return
    anchor.spanIds.add(spanId)
    anchor.isCut = isCut
    for (const traceId of traceIds) {
      if (traceId === null) continue
      anchor.traceIds.add(traceId)
      anchor.how.push({ from: `span:${spanId}`, to: `trace:${traceId}`, by: 'span_id' })
    }
  }
  async function addLog(): Promise<void> {
    const hit = await lookups.record<LogDocument>('logs', value)
    if (hit === undefined) return
    anchor.logs.set(value, hit)
    follow(anchor, `log:${value}`, hit.document)
  }
  async function addRumEvent(): Promise<void> {
    const hit = await lookups.record<RumEventDocument>('rumEvents', value)
    if (hit === undefined) return
    anchor.rumEvents.set(value, hit)
    follow(anchor, `rum_event:${value}`, hit.document)
  }
  async function addTrace(traceId: string | undefined): Promise<void> {
    if (traceId !== undefined && (!any || (await lookups.isKnown(isOneOf('trace_id', [traceId])))))
      anchor.traceIds.add(traceId)
  }

  const is = (...kinds: readonly CorrelationId['kind'][]): boolean => any || kinds.includes(kind)
  if (is('trace_id')) await addTrace(askedTraceId(value))
  if (is('traceparent')) addTraceparent(anchor, value)
  if (is('span_id')) await addSpan(askedSpanId(value))
  if (is('log_id')) await addLog()
  if (any) await addRumEvent()
  if (kind === 'session_id' || (any && (await lookups.isKnown(isOfSessions([value]))))) anchor.sessionIds.add(value)
  return anchor
}
