import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { join, negate } from '../field-query.ts'
import type { Filter, Hit, IndexReader, SortKey } from '../index-store.ts'
import { matchedSpan, tracesScope, type MatchedSpan } from './trace-answer.ts'
import { isStored, traceIdOfSpanRecord, type SpanDocument } from './span-document.ts'

export type Direction = 'asc' | 'desc'
export type TimeRange = Readonly<{ fromNs?: bigint; toNs?: bigint }>
export type SpanPage = Readonly<{ limit: number; direction: Direction; after?: SortKey | undefined }>

const spansPageMax = 1_000
const matchedSpansMax = 3

export const inTraces = (traceIds: readonly string[]): Filter =>
  traceIds.length === 0 ? { kind: 'none' } : { kind: 'keyword', field: 'trace_id', values: traceIds }

/** Spans that meet a filter within a time range, by start. */
export function createSpanSearch(reader: IndexReader, workspaceId: WorkspaceId, filter: Filter, range: TimeRange) {
  const scope = tracesScope(workspaceId, 'spans')
  const bounds = {
    ...(range.fromNs === undefined ? {} : { fromNs: range.fromNs }),
    ...(range.toNs === undefined ? {} : { toNs: range.toNs }),
  }

  const search = (more: Filter, { limit, direction, after }: SpanPage): Promise<readonly Hit<SpanDocument>[]> =>
    reader.search<SpanDocument>(scope, {
      ...bounds,
      filter: join('and', [filter, more, isStored]),
      orderBy: 'timeNs',
      direction,
      limit,
      ...(after === undefined ? {} : { after }),
    })

  /** Those of the traces that have a matching span, walking from a place. One trace may have very many. */
  async function tracesWith(traceIds: readonly string[], direction: Direction, after?: SortKey): Promise<Set<string>> {
    const found = new Set<string>()
    for (;;) {
      const rest = traceIds.filter((traceId) => !found.has(traceId))
      if (rest.length === 0) return found
      const hits = await search(inTraces(rest), { limit: spansPageMax, direction, after })
      for (const { id } of hits) found.add(traceIdOfSpanRecord(id))
      if (hits.length < spansPageMax) return found
    }
  }

  return {
    search,
    tracesWith,

    /** The traces of all matching spans; undefined when these are too many to be looked through. */
    async allTraces(spansMax: number): Promise<ReadonlySet<string> | undefined> {
      const found = new Set<string>()
      let after: SortKey | undefined
      for (let read = 0; read < spansMax;) {
        const hits = await search({ kind: 'all' }, { limit: spansPageMax, direction: 'desc', after })
        for (const { id } of hits) found.add(traceIdOfSpanRecord(id))
        if (hits.length < spansPageMax) return found
        read += hits.length
        after = hits.at(-1)?.sort
      }
      return undefined
    },

    /** The first spans of each trace that match, in one search as long as none of them has very many. */
    async matchedIn(traceIds: readonly string[], direction: Direction): Promise<ReadonlyMap<string, MatchedSpan[]>> {
      const found = new Map<string, MatchedSpan[]>(traceIds.map((traceId) => [traceId, []]))
      const add = (hit: Hit<SpanDocument>): void => {
        const spans = found.get(traceIdOfSpanRecord(hit.id))
        if (spans !== undefined && spans.length < matchedSpansMax) spans.push(matchedSpan(hit.document))
      }
      const limit = traceIds.length * matchedSpansMax * 4
      const hits = await search(inTraces(traceIds), { limit, direction })
      for (const hit of hits) add(hit)
      if (hits.length < limit) return found
      for (const [traceId, spans] of found) {
        if (spans.length === matchedSpansMax) continue
        spans.length = 0
        for (const hit of await search(inTraces([traceId]), { limit: matchedSpansMax, direction })) add(hit)
      }
      return found
    },

    /** The next spans, the first of each trace only, leaving some traces out. */
    async nextTraces(leftOut: readonly string[], page: SpanPage) {
      const hits = await search(negate(inTraces(leftOut)), page)
      const firsts = new Map<string, SortKey>()
      for (const { id, sort } of hits) {
        const traceId = traceIdOfSpanRecord(id)
        if (!firsts.has(traceId)) firsts.set(traceId, sort)
      }
      const found = [...firsts].map(([traceId, sort]) => ({ traceId, sort }))
      return { firsts: found, last: hits.at(-1)?.sort, isEnd: hits.length < page.limit }
    },
  }
}

export type SpanSearch = ReturnType<typeof createSpanSearch>
