import { parseSpanId, parseTraceId } from '#src/events/ids.ts'
import { opaqueId } from '#src/events/tokens.ts'
import { parseTraceparent } from '#src/events/traceparent.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { askInOrder } from '../ask-in-order.ts'
import { isOneOf, join, negate } from '../filters.ts'
import type { Filter, Hit, IndexReader, Scope, SortKey } from '../index-store.ts'
import type { LogDocument } from '../logs/log-document.ts'
import { logsScope } from '../logs/log-selection.ts'
import { timeOfRecordId } from '../projection.ts'
import { isAll, pageCharactersMax } from '../page-size.ts'
import { isStored, traceIdOfSpanRecord } from '../traces/span-document.ts'
import { tracesScope } from '../traces/trace-answer.ts'
import { traceIdOfPart } from '../traces/trace-part.ts'
import type { RumEventDocument } from './rum-event-document.ts'

/** What is looked up: a value of a named kind, or of any kind that it has the shape of. */
export type CorrelationId = Readonly<{
  kind: 'trace_id' | 'traceparent' | 'session_id' | 'span_id' | 'log_id' | 'id'
  value: string
}>

/** Why two things are joined: one names an identifier of the other. `trace:…`, `session:…`, `span:…`, `log:…`. */
export type Join = Readonly<{ from: string; to: string; by: string }>

/** What an identifier stands for in this workspace. */
export type Anchor = {
  readonly traceIds: Set<string>
  readonly sessionIds: Set<string>
  readonly spanIds: Set<string>
  readonly logs: Map<string, Hit<LogDocument>>
  readonly rumEvents: Map<string, Hit<RumEventDocument>>
  readonly how: Join[]
  /** More traces share a span id than are looked up. */
  isCut: boolean
}

/** One span id is looked up in so many traces, and in so many records of one kind: of a trace that is known no more are read. */
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

/** What one record names: its trace, else its session. */
function follow(
  anchor: Anchor,
  from: string,
  { traceId, sessionId }: Pick<LogDocument, 'traceId' | 'sessionId'>,
): void {
  if (traceId !== null) {
    anchor.traceIds.add(traceId)
    anchor.how.push({ from, to: `trace:${traceId}`, by: 'trace_id' })
  }
  if (sessionId === null) return
  if (traceId === null) anchor.sessionIds.add(sessionId)
  anchor.how.push({ from, to: `session:${sessionId}`, by: 'session_id' })
}

/** What names a span: its place, and its trace; null: none. */
type Naming = Readonly<{ sort: SortKey; traceId: string | null }>
type NamingPage = Readonly<{ found: readonly Naming[]; isAll: boolean }>
type Page = Readonly<{ filter: Filter; limit: number; after: SortKey | undefined }>

/** Traces that records name, and whether there may be more. */
type NamedTraces = Readonly<{ traceIds: ReadonlySet<string | null>; isCut: boolean }>

/** The traces of these records, page by page: behind each page those of traces that are known are left out. */
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

/** The first traces of all of these: as many as are looked up. */
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
  /** Of what says in its id of which trace it is, no document need be read: it may be a megabyte. */
  const tracesOfIds = (scope: Scope, named: Filter, traceIdOf: (id: string) => string): Promise<NamedTraces> =>
    tracesNamed(named, async (page) => {
      const places = await reader.places(scope, { ...newest, ...page })
      return {
        found: places.map((sort) => ({ sort, traceId: traceIdOf(sort.id) })),
        isAll: places.length < page.limit,
      }
    })

  /** Together the documents may be a hundred megabytes. */
  const tracesOfRecords = (scope: Scope, named: Filter): Promise<NamedTraces> =>
    tracesNamed(named, async (page) => {
      const query = { ...newest, ...page, charactersMax: pageCharactersMax }
      const hits = await reader.search<LogDocument | RumEventDocument>(scope, query)
      const found = hits.map(({ sort, document }) => ({ sort, traceId: document.traceId }))
      return { found, isAll: isAll(hits, page.limit) }
    })

  return {
    /**
     * Traces in which a span of this id is stored, named as a parent, or refused, or which a record names beside it. Null: one that
     * names no trace.
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
    /** Whether any record names it. */
    async isKnown(named: Filter): Promise<boolean> {
      for (const scope of [scopes.links, scopes.traces, scopes.logs, scopes.rumEvents]) {
        if ((await reader.places(scope, { ...newest, filter: named, limit: 1 })).length > 0) return true
      }
      return false
    },
  }
}

/** Resolves an identifier to what it stands for, by look-ups of shared identifiers only. */
export async function findAnchor(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  { kind, value }: CorrelationId,
): Promise<Anchor> {
  const anchor = emptyAnchor()
  const lookups = createLookups(reader, workspaceId)
  const any = kind === 'id'

  /** Of a value whose kind is not told, only what is known counts. */
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
  if (is('trace_id')) await addTrace(parseTraceId(value))
  if (is('traceparent')) addTraceparent(anchor, value)
  if (is('span_id')) await addSpan(parseSpanId(value))
  if (is('log_id')) await addLog()
  if (any) await addRumEvent()
  if (kind === 'session_id' || (any && (await lookups.isKnown(isOfSessions([value]))))) anchor.sessionIds.add(value)
  return anchor
}
