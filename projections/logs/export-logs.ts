import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { TransientError } from '#src/lib/failure.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import type { Hit, IndexReader, Selection, SortKey } from '../index-store.ts'
import { isAll, pageCharactersMax } from '../reading/page-size.ts'
import { messageOf, type LogDocument } from './log-document.ts'
import { logItem, type LogItem } from './log-item.ts'
import { logSelection, logsScope, type LogFilters } from './log-selection.ts'

/** How many records the snapshot holds, and the records in batches. */
type LogExport = Readonly<{ matched: number; batches: AsyncIterable<readonly LogItem[]> }>

const batchMin = 16
const batchMax = 1_000
const batchCharacters = 2 * 1024 * 1024

/**
 * Exports every matching record up to the index's current position; what arrives later is not included. Pages by (time, id), with only one batch in
 * memory. The larger the records seen so far, the smaller a batch.
 * Rejects at the end if some records have gone meanwhile: erased, or expired with their day.
 */
export async function exportLogs(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  request: LogFilters,
): Promise<LogExport> {
  const progress = await reader.progress('logs')
  const selection = { ...logSelection(request), upTo: progress?.position ?? 0 }
  const count = (): Promise<number> => reader.count(logsScope(workspaceId), selection)
  const matched = await count()
  return { matched, batches: whole({ matched, count }, walk(reader, workspaceId, request, selection)) }
}

type Counted = Readonly<{ matched: number; count: () => Promise<number> }>

/** The batches. Throws at the end if counted records have gone meanwhile, so that a part is not taken for the whole. */
async function* whole(
  { matched, count }: Counted,
  batches: AsyncIterable<readonly LogItem[]>,
): AsyncGenerator<readonly LogItem[]> {
  let found = 0
  for await (const items of batches) {
    found += items.length
    yield items
  }
  // A record that is in several days was counted once for each.
  if (found >= matched || (await count()) >= matched) return
  const hint = `of ${matched} records some were erased, or have expired, while it ran`
  throw new TransientError({ operation: 'export', subject: 'logs', hint })
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

/** How many records a batch may hold if they are like the largest of these. */
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
