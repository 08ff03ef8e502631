import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexReader } from '../index-store.ts'
import { timeOfSortable } from './sortable-time.ts'
import { spanRecordId } from './span-document.ts'
import { readParts } from './trace-answer.ts'
import type { PartRow } from './trace-part.ts'
import { walkKeyOf, type WalkKey } from './trace-request.ts'
import { mergeRows } from './trace-summary.ts'

type Asked = Readonly<{ traceId: string; spanId: string; limit: number }>

/**
 * Behind which keys pages of `limit` spans of a trace hold a span, or of one that is missing the first that names it as its parent: first
 * as pages are walked from the beginning, then, because a page may end for its size, right before the span. Nothing for a span that the
 * trace does not know of; and the page at the beginning has no key.
 */
export async function placesOfSpan(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  { traceId, spanId, limit }: Asked,
): Promise<readonly WalkKey[]> {
  const rows = mergeRows(await readParts(reader, workspaceId, traceId))
  const recordOf = (row: PartRow): string => spanRecordId(timeOfSortable(row.start), traceId, row.spanId)
  const own = rows.get(spanId)
  const shown = own === undefined ? [...rows.values()].filter((row) => row.parentSpanId === spanId) : [own]
  const [first] = shown.map(recordOf).sort()
  if (first === undefined) return []
  const earlier = [...rows.values()].filter((row) => recordOf(row) < first)
  const keys = earlier
    .map((row) => ({ id: recordOf(row), value: timeOfSortable(row.start) }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  const [page, before] = [keys[Math.floor(keys.length / limit) * limit - 1], keys.at(-1)]
  return [page, before].flatMap((key) => (key === undefined ? [] : [walkKeyOf(key, 0)]))
}
