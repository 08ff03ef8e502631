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
 * Every record that matches, as of the position that the index stands at now: what arrives later is not in it. Pages by
 * (time, id), so memory is that of one batch, and a batch is the smaller the larger its records are, and those before it were.
 * Rejects at the end where some have gone meanwhile: erased, or of a day that readers no longer see.
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

/** The batches, unless some of what was counted has gone meanwhile: who reads them must not take a part for the whole. */
async function* whole(
  { matched, count }: Counted,
  batches: AsyncIterable<readonly LogItem[]>,
): AsyncGenerator<readonly LogItem[]> {
  let found = 0
  for await (const items of batches) {
    found += items.length
    yield items
  }
  // A record that several days hold was counted for each of them.
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
