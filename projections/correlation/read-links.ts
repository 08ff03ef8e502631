import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Filter, IndexReader } from '../index-store.ts'
import { isOneOf } from '../reading/filters.ts'
import { correlationScope, isOfSessions, type Anchor, type Join } from './anchor.ts'
import type { LinkDocument } from './link-document.ts'

export type Links = Readonly<{
  /** Traces of the requested sessions, newest first. */
  traces: ReadonlySet<string>
  /** The requested sessions and those linked to the requested traces, each with the kinds of record that link it. */
  sessions: ReadonlyMap<string, ReadonlySet<LinkDocument['by']>>
  how: readonly Join[]
  /** Whether the requested sessions (or traces) have more links than are read. */
  moreTraces: boolean
  moreSessions: boolean
}>

/** Other traces of sessions that are only linked to what was requested; undefined if they are too many to tell their records apart. */
export type OtherTraces = readonly string[] | undefined

/** A browser page that polls makes a trace every few seconds, for as long as it is open. */
const linksMax = 10_000

/** The newest links, and whether there are more. */
async function searchLinks(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  filter: Filter,
): Promise<Readonly<{ links: readonly LinkDocument[]; more: boolean }>> {
  if (filter.kind === 'none') return { links: [], more: false }
  const query = { filter, orderBy: 'timeNs', direction: 'desc', limit: linksMax + 1 } as const
  const hits = await reader.search<LinkDocument>(correlationScope(workspaceId, 'links'), query)
  return { links: hits.slice(0, linksMax).map(({ document }) => document), more: hits.length > linksMax }
}

const joinOf = ({ sessionId, traceId, by }: LinkDocument, from: 'session' | 'trace'): Join => {
  const [session, trace] = [`session:${sessionId}`, `trace:${traceId}`]
  return {
    ...(from === 'session' ? { from: session, to: trace } : { from: trace, to: session }),
    by: `${by}.session_id`,
  }
}

/** The sessions and traces that some record names together with the requested ones. */
export async function readLinks(reader: IndexReader, workspaceId: WorkspaceId, anchor: Anchor): Promise<Links> {
  const [ofSessions, ofTraces] = await Promise.all([
    searchLinks(reader, workspaceId, isOfSessions(anchor.sessionIds)),
    searchLinks(reader, workspaceId, isOneOf('trace_id', anchor.traceIds)),
  ])
  const traces = new Set<string>()
  const sessions = new Map<string, Set<LinkDocument['by']>>()
  const how = new Map<string, Join>()
  for (const [found, from] of [
    [ofSessions.links, 'session'],
    [ofTraces.links, 'trace'],
  ] as const) {
    for (const link of found) {
      if (from === 'session') traces.add(link.traceId)
      sessions.set(link.sessionId, (sessions.get(link.sessionId) ?? new Set<LinkDocument['by']>()).add(link.by))
      how.set(`${link.traceId}/${link.by}/${link.sessionId}`, joinOf(link, from))
    }
  }
  return { traces, sessions, how: [...how.values()], moreTraces: ofSessions.more, moreSessions: ofTraces.more }
}

/** The traces of these sessions that were not requested. */
export async function readOtherTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  sessions: readonly string[],
  { traceIds }: Anchor,
): Promise<OtherTraces> {
  const { links, more } = await searchLinks(reader, workspaceId, isOfSessions(sessions))
  if (more) return undefined
  return [...new Set(links.map(({ traceId }) => traceId))].filter((id) => !traceIds.has(id))
}
