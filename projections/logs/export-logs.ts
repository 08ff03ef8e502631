import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import type { Hit, IndexReader, Selection, SortKey } from '../index-store.ts'
import { isAll, pageCharactersMax } from '../page-size.ts'
import { messageOf, type LogDocument } from './log-document.ts'
import type { LogItem } from './log-item.ts'
import { logItem } from './log-item.ts'
import type { LogFilters } from './log-selection.ts'
import { logSelection, logsScope } from './log-selection.ts'

/** How many records the snapshot holds, and the records in batches. */
type LogExport = Readonly<{ matched: number; batches: AsyncIterable<readonly LogItem[]> }>

const batchMin = 16
const batchMax = 1_000
const batchCharacters = 2 * 1024 * 1024

/**
 * Every record that matches, as of the position that the index stands at now: what arrives later is not in it. Pages by
 * (time, id), so memory is that of one batch, and a batch is the smaller the larger its records are, and those before it were.
 */
export async function exportLogs(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  request: LogFilters,
): Promise<LogExport> {
  const progress = await reader.progress('logs')
  const selection = { ...logSelection(request), upTo: progress?.position ?? 0 }
  const matched = await reader.count(logsScope(workspaceId), selection)
  return { matched, batches: walk(reader, workspaceId, request, selection) }
}

async function* walk(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  { order, fields }: LogFilters,
  selection: Selection,
): AsyncGenerator<readonly LogItem[]> {
  let after: SortKey | undefined
  let limit = batchMin
  for (;;) {
    const page = { orderBy: 'timeNs', direction: order, after, limit, charactersMax: pageCharactersMax } as const
    const hits = await reader.search<LogDocument>(logsScope(workspaceId), { ...selection, ...page })
    if (hits.length > 0) yield await mapInTurns(hits, (hit) => logItem(hit, fields))
    if (isAll(hits, limit)) return
    after = hits.at(-1)?.sort
    limit = nextLimit(hits)
  }
}

/** As many as a batch may hold if they are like the largest of these. */
function nextLimit(hits: readonly Hit<LogDocument>[]): number {
  const largest = hits.reduce(
    (most, { document }) => Math.max(most, messageOf(document).length + sizeOf(document.fields)),
    1,
  )
  return Math.min(batchMax, Math.max(batchMin, Math.floor(batchCharacters / largest)))
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  return Object.entries(value).reduce((sum, [key, item]) => sum + key.length + sizeOf(item), 8)
}
