import { wholeToken } from '#src/events/tokens.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import type { Filter, Hit, Scope } from '../index-store.ts'
import type { LogDocument } from '../logs/log-document.ts'
import { logItem, type LogItem } from '../logs/log-item.ts'
import { logsScope } from '../logs/log-selection.ts'
import type { Absent } from '../projection.ts'
import { isOneOf, join, negate } from '../reading/filters.ts'
import { hasMore } from '../reading/page-size.ts'
import { compareSort } from '../stores/order.ts'
import { sortKeyOf, walkKeyOf } from '../traces/trace-request.ts'
import { correlationScope, isOfSessions, type Anchor } from './anchor.ts'
import { charactersOf, usualLimits, type Part, type Read } from './correlation-request.ts'
import { readLinks, readOtherTraces, type OtherTraces } from './read-links.ts'
import { rumEventItem, type RumEventDocument } from './rum-event-document.ts'

/**
 * Which records belong to what was found: those that name one of its traces or sessions (`named`), and, of sessions that are only `linked` to a
 * requested trace, those that name none of the `others`.
 */
type Belonging = Readonly<{ named: Filter; linked: Filter; others: Promise<OtherTraces> }>

const namedBy = ({ traceIds, sessionIds, spanIds }: Anchor, traces: ReadonlySet<string>): Filter =>
  join('or', [
    isOneOf('trace_id', new Set([...traceIds, ...traces])),
    isOfSessions(sessionIds),
    isOneOf('span_id', spanIds),
  ])

type Linkable = Readonly<{ traceId: string | Absent }>
const traceTerm = (traceId: string): string => wholeToken('trace_id', traceId)

/** Searches one kind of record by time, after the page's place. */
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
 * The first of these records by time. Excluding the other traces in the query is expensive, because a session may have many. Most sessions have few
 * records, so these are read and filtered here.
 */
async function findBelonging<D extends Linkable>(
  { search, limit }: RecordSearch<D>,
  belonging: Belonging,
  named: Promise<readonly Hit<D>[]>,
): Promise<readonly Hit<D>[]> {
  const [ofNamed, ofLinked, others] = await Promise.all([named, search(belonging.linked), belonging.others])
  if (others === undefined) return ofNamed
  // If one of the two ends early, what comes after its end cannot be shown yet.
  if (hasMore(ofLinked, limit) || ofNamed.at(-1)?.endsForSize === true) {
    const linked = join('and', [belonging.linked, negate(isOneOf('trace_id', others))])
    return search(join('or', [belonging.named, linked]))
  }
  const elsewhere = new Set(others.map(traceTerm))
  const found = new Map(ofNamed.map((hit) => [hit.id, hit]))
  for (const hit of ofLinked) {
    const { traceId = null } = hit.document
    if (traceId === null || !elsewhere.has(traceTerm(traceId))) found.set(hit.id, hit)
  }
  return [...found.values()].sort((a, b) => compareSort(a.sort, b.sort)).slice(0, limit + 1)
}

/** `itself`: the records that were requested by their ids. `isCut`: there may be more than was looked for. */
type FoundRecords<D extends object> = Readonly<{
  hits: readonly Hit<D>[]
  itself: ReadonlyMap<string, Hit<D>>
  isCut: boolean
}>

async function partOf<D extends Linkable, Item>(
  { limit, isFirst }: RecordSearch<D>,
  { hits, itself, isCut }: FoundRecords<D>,
  item: (hit: Hit<D>) => Item,
): Promise<Part<Item>> {
  const shown = hits.slice(0, limit)
  const last = hasMore(hits, limit) ? shown.at(-1) : undefined
  // A record that was requested by its id is always on the first page, and only there.
  const items = isFirst
    ? [...[...itself.values()].filter(({ id }) => !shown.some((hit) => hit.id === id)), ...shown]
    : shown.filter(({ id }) => !itself.has(id))
  const next = last === undefined ? null : walkKeyOf(last.sort, 0)
  return { items: await mapInTurns(items, item), next, truncated: isCut || last !== undefined }
}

/** The links between sessions and traces, and the records that belong to them. */
export async function readLinked(read: Read, anchor: Anchor) {
  const { reader, workspaceId } = read
  const logs = createRecordSearch<LogDocument>(read, 'logs', logsScope(workspaceId))
  const scope = correlationScope(workspaceId, 'rumEvents')
  const rumEvents = createRecordSearch<RumEventDocument>(read, 'rum_events', scope)
  const searchNamed = (named: Filter) => [logs.search(named), rumEvents.search(named)] as const
  // Only a session has traces that are not known yet. Otherwise the records are read together with the links.
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
    logs: await partOf(logs, { hits: foundLogs, itself: anchor.logs, isCut }, (hit): LogItem => logItem(hit)),
    rumEvents: await partOf(rumEvents, { hits: foundRumEvents, itself: anchor.rumEvents, isCut }, rumEventItem),
  }
}
