import type { QueryTree } from '#src/events/query-tree.ts'
import type { Level } from '#src/events/telemetry.ts'
import { opaqueId } from '#src/events/tokens.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Scope, Selection } from '../index-store.ts'
import { filterOf } from '../reading/field-query.ts'
import { all, is, isOneOf, join } from '../reading/filters.ts'
import { logCollection, logSchema } from './log-document.ts'

/** Which log records, and in which order of time. */
export type LogFilters = Readonly<{
  query?: QueryTree
  levels?: readonly Level[]
  service?: string
  traceId?: string
  sessionId?: string
  /** Record time, nanoseconds: from inclusive, to exclusive. */
  fromNs?: bigint
  toNs?: bigint
  order: 'asc' | 'desc'
  /** Answer with only these of the records' own fields. */
  fields?: readonly string[]
}>

export const logsScope = (workspaceId: WorkspaceId): Scope => ({
  workspaceId,
  projection: 'logs',
  collection: logCollection.name,
})

/** The conditions of a request, without its place in a walk. */
export function logSelection(request: LogFilters): Selection {
  const { query, levels = [], service, traceId, sessionId, fromNs, toNs } = request
  const filter = join('and', [
    levels.length === 0 ? all : isOneOf('level', levels),
    is('service', service),
    is('trace_id', traceId),
    is('session_id', sessionId && opaqueId(sessionId)),
    query === undefined ? all : filterOf(query, logSchema),
  ])
  return { filter, fromNs, toNs }
}
