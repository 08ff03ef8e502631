import type { QueryTree } from '#src/events/query-tree.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import type { Hit, IndexReader, Progress, Scope, Selection, SortKey } from '../index-store.ts'
import type { LogDocument } from '../logs/log-document.ts'
import { logSelection, logsScope } from '../logs/log-selection.ts'
import { askInOrder } from '../reading/ask-in-order.ts'
import { filterOf } from '../reading/field-query.ts'
import { all, is, join } from '../reading/filters.ts'
import { hasMore, pageCharactersMax } from '../reading/page-size.ts'
import { compareSort } from '../stores/order.ts'
import { sortKeyOf, walkKeyOf, type WalkKey } from '../traces/trace-request.ts'
import { correlationScope } from './anchor.ts'
import { progressOf } from './progress-of.ts'
import { rumEventSchema, type RumEventDocument } from './rum-event-document.ts'
import { ofSessions, recordOfEvent, recordOfLog, sessionsOf, type RumRecord, type RumSession } from './rum-session.ts'

/** Which browser records are read, to list their sessions. */
export type SessionRequest = Readonly<{
  query?: QueryTree
  service?: string
  /** Record time, nanoseconds: from inclusive, to exclusive. */
  fromNs?: bigint
  toNs?: bigint
  /** The plan does not include logs, so none are read. */
  omitsLogs: boolean
  /** The most records to read, newest first, and the most sessions: the page ends before the first record beyond either. */
  recordsMax: number
  sessionsMax: number
  /** `next` of an earlier page of the same request. */
  after?: WalkKey
}>

export type SessionPage = Readonly<{
  sessions: readonly RumSession[]
  /** The records that were read: how many, their range of time, and how many of them name no session. */
  read: Readonly<{ count: number; newest: string | null; oldest: string | null; without_session: number }>
  /** Continues with older records; null at the end. Each record is on one page, but a session may be on several. */
  next: WalkKey | null
  progress: Progress | undefined
}>

/** The newest records of a kind. Of those older than `completeTo` some may not have been read; undefined: these are all. */
type Found = Readonly<{ records: readonly RumRecord[]; completeTo: SortKey | undefined }>

const nothing: Found = { records: [], completeTo: undefined }

/** Each of the two kinds may fill half a page. */
const charactersMax = pageCharactersMax / 2

/** Reads one kind of record, in order of time. */
async function findNewest<D extends object>(
  { reader, request }: Readonly<{ reader: IndexReader; request: SessionRequest }>,
  scope: Scope,
  selection: Selection,
  recordOf: (hit: Hit<D>) => RumRecord,
): Promise<Found> {
  const { after, recordsMax, fromNs, toNs } = request
  const hits = await reader.search<D>(scope, {
    ...selection,
    fromNs,
    toNs,
    orderBy: 'timeNs',
    direction: 'desc',
    after: after && sortKeyOf(after),
    limit: recordsMax + 1,
    charactersMax,
  })
  const records = await mapInTurns(hits, recordOf)
  return { records, completeTo: hasMore(hits, recordsMax) ? hits.at(-1)?.sort : undefined }
}

/** The newest records of all kinds, as far as each kind is complete. `isAll`: there are no older ones. */
function newestOf(kinds: readonly Found[], { recordsMax, sessionsMax }: SessionRequest) {
  const ends = kinds.flatMap(({ completeTo }) => completeTo ?? [])
  const found = kinds.flatMap(({ records }) => records).sort((a, b) => compareSort(b.sort, a.sort))
  const known = found.filter(({ sort }) => ends.every((end) => compareSort(sort, end) >= 0))
  const records = ofSessions(known.slice(0, recordsMax), sessionsMax)
  return { records, isAll: ends.length === 0 && records.length === found.length }
}

/**
 * The sessions of the newest browser records. Sessions are not stored: a session is what its records say, as far as they were read, and that is
 * limited.
 */
export async function searchSessions(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  request: SessionRequest,
): Promise<SessionPage> {
  const { query, service, omitsLogs } = request
  const ofEvents = join('and', [is('service', service), query === undefined ? all : filterOf(query, rumEventSchema)])
  const ofLogs = logSelection({
    ...(query === undefined ? {} : { query }),
    ...(service === undefined ? {} : { service }),
    order: 'desc',
  })
  const logs = { filter: join('and', [is('source', 'rum'), ofLogs.filter]) }
  const read = { reader, request }
  const [progress, ...kinds] = await askInOrder(reader, [
    () => progressOf(reader, omitsLogs ? ['correlation'] : ['correlation', 'logs']),
    () =>
      findNewest<RumEventDocument>(
        read,
        correlationScope(workspaceId, 'rumEvents'),
        { filter: ofEvents },
        recordOfEvent,
      ),
    async () => (omitsLogs ? nothing : findNewest<LogDocument>(read, logsScope(workspaceId), logs, recordOfLog)),
  ])
  const { records, isAll } = newestOf(kinds, request)
  const [first, last] = [records.at(0), records.at(-1)]
  const timeOf = (record: RumRecord | undefined): string | null =>
    record === undefined ? null : formatTimeNs(record.sort.value)
  return {
    sessions: sessionsOf(records),
    read: {
      count: records.length,
      newest: timeOf(first),
      oldest: timeOf(last),
      without_session: records.filter(({ sessionId }) => sessionId === null).length,
    },
    next: isAll || last === undefined ? null : walkKeyOf(last.sort, 0),
    progress,
  }
}
