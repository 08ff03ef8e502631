import type { QueryTree } from '#src/events/query-tree.ts'
import type { Level } from '#src/events/telemetry.ts'
import { opaqueId } from '#src/events/tokens.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { filterOf, join } from '../field-query.ts'
import type { Filter, Scope, Selection } from '../index-store.ts'
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
  /** Only these of the records' own fields are answered. */
  fields?: readonly string[]
}>

export const logsScope = (workspaceId: WorkspaceId): Scope => ({
  workspaceId,
  projection: 'logs',
  collection: logCollection.name,
})

/** The conditions of the request, without its place in a walk. */
export function logSelection(request: LogFilters): Selection {
  const keyword = (field: string, values: readonly string[] | undefined): Filter =>
    values === undefined || values.length === 0 ? { kind: 'all' } : { kind: 'keyword', field, values }
  const one = (field: string, value: string | undefined): Filter => keyword(field, value === undefined ? [] : [value])
  const filter = join('and', [
    keyword('level', request.levels),
    one('service', request.service),
    one('trace_id', request.traceId),
    one('session_id', request.sessionId && opaqueId(request.sessionId)),
    request.query === undefined ? { kind: 'all' } : filterOf(request.query, logSchema),
  ])
  return {
    filter,
    ...(request.fromNs === undefined ? {} : { fromNs: request.fromNs }),
    ...(request.toNs === undefined ? {} : { toNs: request.toNs }),
  }
}
