import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Filter, Hit, IndexReader, Selection, SortKey } from '../index-store.ts'
import { all, join, negate } from '../reading/filters.ts'
import { isAll, pageCharactersMax } from '../reading/page-size.ts'
import { isStored, traceIdOfSpanRecord, type SpanDocument } from './span-document.ts'
import { inTraces, tracesScope } from './read-traces.ts'
import { matchedSpan, type MatchedSpan } from './trace-answer.ts'
import type { TraceDocument } from './trace-document.ts'

export type Direction = 'asc' | 'desc'
type TimeRange = Pick<Selection, 'fromNs' | 'toNs'>
type SpanPage = Readonly<{
  limit: number
  direction: Direction
  after?: SortKey | undefined
  /** Limit of the documents; by default that of a page. */
  charactersMax?: number
}>

/** How many matching spans are looked up at once, if only their traces are wanted. */
const placesMax = 2_000
const matchedSpansMax = 3

/**
 * A trace with its first three matching spans, as far as the walk has come (`until`; undefined: to the end). `sort`: the place of the first. The
 * spans are kept in the short form of lists, because a walk may pass thousands of spans of a megabyte each.
 */
export type FoundSpans = Readonly<{
  traceId: string
  sort: SortKey
  spans: MatchedSpan[]
  until: SortKey | undefined
}>

/** The first matching spans of a trace; undefined if the walk may not have seen all of them. */
export function matchedOf(
  { spans, until }: FoundSpans,
  { startNs, lastStartNs }: TraceDocument['summary'],
  direction: Direction,
): readonly MatchedSpan[] | undefined {
  const end = direction === 'desc' ? startNs : lastStartNs
  const isBeyond = (time: bigint): boolean =>
    end !== null && (direction === 'desc' ? time < BigInt(end) : time > BigInt(end))
  const isWhole = spans.length === matchedSpansMax || until === undefined || isBeyond(until.value)
  return isWhole ? spans : undefined
}

/** Groups a page of spans by trace, in their order. `last` is where the next page begins. */
function byTrace(hits: readonly Hit<SpanDocument>[], limit: number) {
  const traces = new Map<string, FoundSpans>()
  const last = hits.at(-1)?.sort
  const isEnd = isAll(hits, limit)
  for (const hit of hits) {
    const traceId = traceIdOfSpanRecord(hit.id)
    const found = traces.get(traceId) ?? { traceId, sort: hit.sort, spans: [], until: isEnd ? undefined : last }
    if (found.spans.length < matchedSpansMax) found.spans.push(matchedSpan(hit.document))
    traces.set(traceId, found)
  }
  return { found: [...traces.values()], last, isEnd }
}

/** Searches for spans that match a filter in a time range, by start. A search may end early for its size. */
export function createSpanSearch(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  filter: Filter,
  { fromNs, toNs }: TimeRange,
) {
  const scope = tracesScope(workspaceId, 'spans')

  const queryOf = (more: Filter, { limit, direction, after }: SpanPage) => ({
    fromNs,
    toNs,
    filter: join('and', [filter, more, isStored]),
    orderBy: 'timeNs',
    direction,
    limit,
    after,
  })

  const search = (more: Filter, page: SpanPage): Promise<readonly Hit<SpanDocument>[]> => {
    const { charactersMax = pageCharactersMax } = page
    return reader.search<SpanDocument>(scope, { ...queryOf(more, page), charactersMax })
  }

  const places = (more: Filter, page: SpanPage): Promise<readonly SortKey[]> =>
    reader.places(scope, queryOf(more, page))

  /** Which of the traces have a matching span after a place. One trace may have very many. */
  async function tracesWith(traceIds: readonly string[], direction: Direction, after?: SortKey): Promise<Set<string>> {
    const found = new Set<string>()
    for (;;) {
      const rest = traceIds.filter((traceId) => !found.has(traceId))
      if (rest.length === 0) return found
      const met = await places(inTraces(rest), { limit: placesMax, direction, after })
      for (const { id } of met) found.add(traceIdOfSpanRecord(id))
      if (met.length < placesMax) return found
    }
  }

  return {
    search,
    places,
    tracesWith,

    /** The traces of all matching spans; undefined if there are too many spans. */
    async allTraces(spansMax: number): Promise<ReadonlySet<string> | undefined> {
      const met = await places(all, { limit: spansMax + 1, direction: 'desc' })
      return met.length > spansMax ? undefined : new Set(met.map(({ id }) => traceIdOfSpanRecord(id)))
    },

    /** The first matching spans of each trace; one search is enough unless a trace has very many. */
    async matchedIn(traceIds: readonly string[], direction: Direction): Promise<ReadonlyMap<string, MatchedSpan[]>> {
      const found = new Map<string, MatchedSpan[]>(traceIds.map((traceId) => [traceId, []]))
      const add = (hit: Hit<SpanDocument>): void => {
        const spans = found.get(traceIdOfSpanRecord(hit.id))
        if (spans !== undefined && spans.length < matchedSpansMax) spans.push(matchedSpan(hit.document))
      }
      const limit = traceIds.length * matchedSpansMax * 4
      const hits = await search(inTraces(traceIds), { limit, direction })
      for (const hit of hits) add(hit)
      if (isAll(hits, limit)) return found
      for (const [traceId, spans] of found) {
        if (spans.length === matchedSpansMax) continue
        spans.length = 0
        for (const hit of await search(inTraces([traceId]), { limit: matchedSpansMax, direction })) add(hit)
      }
      return found
    },

    /** The traces of the next matching spans, each at its first, except the traces in `leftOut`. */
    async nextTraces(leftOut: readonly string[], page: SpanPage) {
      return byTrace(await search(negate(inTraces(leftOut)), page), page.limit)
    },
  }
}

export type SpanSearch = ReturnType<typeof createSpanSearch>
