import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Filter, IndexReader } from '../index-store.ts'
import { isOneOf, scopeOf, type Anchor, type Join } from './anchor.ts'
import type { LinkDocument } from './link-document.ts'

export type Links = Readonly<{
  /** Traces of the sessions asked for, newest first. */
  traces: ReadonlySet<string>
  /** Sessions asked for or linked to the traces asked for, each with the kinds of record that link it. */
  sessions: ReadonlyMap<string, ReadonlySet<LinkDocument['by']>>
  how: readonly Join[]
  truncated: boolean
}>

/** Other traces of sessions that are only linked to what was asked for; undefined when they are too many to tell their records apart. */
export type OtherTraces = readonly string[] | undefined

const linksMax = 1_000

const searchLinks = async (
  reader: IndexReader,
  workspaceId: WorkspaceId,
  filter: Filter,
): Promise<readonly LinkDocument[]> => {
  if (filter.kind === 'none') return []
  const query = { filter, orderBy: 'timeNs', direction: 'desc', limit: linksMax + 1 } as const
  const hits = await reader.search<LinkDocument>(scopeOf(workspaceId, 'correlation', 'links'), query)
  return hits.map(({ document }) => document)
}

const joinOf = ({ sessionId, traceId, by }: LinkDocument, from: 'session' | 'trace'): Join => {
  const [session, trace] = [`session:${sessionId}`, `trace:${traceId}`]
  return {
    ...(from === 'session' ? { from: session, to: trace } : { from: trace, to: session }),
    by: `${by}.session_id`,
  }
}

/** Which sessions and traces hang together with those asked for, as far as one record named both. */
export async function readLinks(reader: IndexReader, workspaceId: WorkspaceId, anchor: Anchor): Promise<Links> {
  const [ofSessions, ofTraces] = await Promise.all([
    searchLinks(reader, workspaceId, isOneOf('session_id', anchor.sessionIds)),
    searchLinks(reader, workspaceId, isOneOf('trace_id', anchor.traceIds)),
  ])
  const traces = new Set<string>()
  const sessions = new Map<string, Set<LinkDocument['by']>>()
  const how = new Map<string, Join>()
  for (const [found, from] of [
    [ofSessions.slice(0, linksMax), 'session'],
    [ofTraces.slice(0, linksMax), 'trace'],
  ] as const) {
    for (const link of found) {
      if (from === 'session') traces.add(link.traceId)
      sessions.set(link.sessionId, (sessions.get(link.sessionId) ?? new Set<LinkDocument['by']>()).add(link.by))
      how.set(`${link.traceId}/${link.by}/${link.sessionId}`, joinOf(link, from))
    }
  }
  const truncated = [ofSessions, ofTraces].some(({ length }) => length > linksMax)
  return { traces, sessions, how: [...how.values()], truncated }
}

/** The traces of these sessions that were not asked for. */
export async function readOtherTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  sessions: readonly string[],
  { traceIds }: Anchor,
): Promise<OtherTraces> {
  const links = await searchLinks(reader, workspaceId, isOneOf('session_id', sessions))
  if (links.length > linksMax) return undefined
  return [...new Set(links.map(({ traceId }) => traceId))].filter((id) => !traceIds.has(id))
}
