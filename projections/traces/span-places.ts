import type { QueryTree } from '#src/events/query-tree.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexReader, SortKey } from '../index-store.ts'
import { all, is } from '../reading/filters.ts'
import { compareSort } from '../stores/order.ts'
import { inTraces } from './read-traces.ts'
import { spanIdOfSpanRecord } from './span-document.ts'
import { spanFilter } from './span-filter.ts'
import { createSpanSearch, type Direction, type SpanSearch } from './span-search.ts'
import { walkKeyOf, type WalkKey } from './trace-request.ts'

type Asked = Readonly<{ traceId: string; spanId: string; limit: number }>

/** How many places of a trace's spans are read at once. */
const placesMax = 5_000
/** In a continued trace, a span may be stored with several starts. */
const startsMax = 8

/** The place of the last version of a span; if it is missing, of the first span that names it as its parent. */
async function placeOf(spans: SpanSearch, spanId: string): Promise<SortKey | undefined> {
  const own = await spans.search(is('span_id', spanId), { limit: startsMax, direction: 'asc' })
  const [last] = own.toSorted((a, b) => b.position - a.position)
  if (last !== undefined) return last.sort
  const [child] = await spans.places(is('parent_span_id', spanId), { limit: 1, direction: 'asc' })
  return child
}

/**
 * The keys of pages of `limit` spans that contain a span, or, if it is missing, the first span that names it as its parent. First comes the key of
 * the regular page. Then, because a page may end early for its size, the key just before the span. The first page has no key, and an unknown span
 * gives no keys.
 */
export async function placesOfSpan(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  { traceId, spanId, limit }: Asked,
): Promise<readonly WalkKey[]> {
  const spans = createSpanSearch(reader, workspaceId, inTraces([traceId]), {})
  const place = await placeOf(spans, spanId)
  if (place === undefined) return []
  let [page, before]: (SortKey | undefined)[] = []
  for (let count = 0, isEnd = false; !isEnd;) {
    const walked = await spans.places(all, { limit: placesMax, direction: 'asc', after: before })
    const earlier = walked.filter((one) => compareSort(one, place) < 0)
    page = earlier.findLast((_, at) => (count + at + 1) % limit === 0) ?? page
    before = earlier.at(-1) ?? before
    count += earlier.length
    isEnd = earlier.length < placesMax
  }
  return [page, before].flatMap((key) => (key === undefined ? [] : [walkKeyOf(key, 0)]))
}

/** The id of the nearest span with an error after a span of the trace, or before it (`desc`). */
export async function nearestError(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  { traceId, spanId, direction }: Readonly<{ traceId: string; spanId: string; direction: Direction }>,
): Promise<string | undefined> {
  const spans = createSpanSearch(reader, workspaceId, inTraces([traceId]), {})
  const after = await placeOf(spans, spanId)
  if (after === undefined) return undefined
  const [nearest] = await spans.places(is('status', 'error'), { limit: 1, direction, after })
  return nearest && spanIdOfSpanRecord(nearest.id)
}

export type FoundSpan = Readonly<{ spanId: string; startNs: bigint }>

/**
 * The first `limit` spans of a trace that a search finds, in the order of its pages. Rejects with TooBroadError if a condition matches too much to be
 * looked up.
 */
export async function spansFound(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  { traceId, query, limit }: Readonly<{ traceId: string; query: QueryTree; limit: number }>,
): Promise<readonly FoundSpan[]> {
  const spans = createSpanSearch(reader, workspaceId, inTraces([traceId]), {})
  const places = await spans.places(await spanFilter(reader, workspaceId, query), { limit, direction: 'asc' })
  return places.map(({ id, value }) => ({ spanId: spanIdOfSpanRecord(id), startNs: value }))
}
