import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Filter, IndexReader } from '../index-store.ts'
import { isOneOf, scopeOf, type Anchor, type Join } from './anchor.ts'
import type { LinkDocument } from './link-document.ts'

export type Links = Readonly<{
  /** Traces of the sessions asked for, newest first. */
  traces: ReadonlySet<string>
  /** Sessions asked for or linked to the traces asked for, each with the kinds of record that link it. */
  sessions: ReadonlyMap<string, ReadonlySet<LinkDocument['by']>>
  /** Other traces of the linked sessions; undefined when they are too many to tell their records apart. */
  others: readonly string[] | undefined
  how: readonly Join[]
  truncated: boolean
}>

const linksMax = 1_000

const joinOf = ({ sessionId, traceId, by }: LinkDocument, from: 'session' | 'trace'): Join => {
  const [session, trace] = [`session:${sessionId}`, `trace:${traceId}`]
  return {
    ...(from === 'session' ? { from: session, to: trace } : { from: trace, to: session }),
    by: `${by}.session_id`,
  }
}

/** Which sessions and traces hang together with those asked for, as far as one record named both. */
export async function readLinks(reader: IndexReader, workspaceId: WorkspaceId, anchor: Anchor): Promise<Links> {
  const search = async (filter: Filter): Promise<readonly LinkDocument[]> => {
    if (filter.kind === 'none') return []
    const query = { filter, orderBy: 'timeNs', direction: 'desc', limit: linksMax + 1 } as const
    const hits = await reader.search<LinkDocument>(scopeOf(workspaceId, 'correlation', 'links'), query)
    return hits.map(({ document }) => document)
  }
  const [ofSessions, ofTraces] = await Promise.all([
    search(isOneOf('session_id', anchor.sessionIds)),
    search(isOneOf('trace_id', anchor.traceIds)),
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
  const linked = [...sessions.keys()].filter((session) => !anchor.sessionIds.has(session))
  const elsewhere = await search(isOneOf('session_id', linked))
  const others = [...new Set(elsewhere.map(({ traceId }) => traceId))].filter((id) => !anchor.traceIds.has(id))
  return {
    traces,
    sessions,
    others: elsewhere.length > linksMax ? undefined : others,
    how: [...how.values()],
    truncated: [ofSessions, ofTraces, elsewhere].some(({ length }) => length > linksMax),
  }
}
