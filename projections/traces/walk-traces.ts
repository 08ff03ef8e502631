import type { Filter, Hit, Selection, SortKey } from '../index-store.ts'
import { askInOrder } from '../reading/ask-in-order.ts'
import { all, join } from '../reading/filters.ts'
import { passedTraces, spanIsPassed, traceIsPassed } from './passed-traces.ts'
import { traceIdOfSpanRecord } from './span-document.ts'
import { documentsOf, inTraces, readTraces, tracesScope } from './read-traces.ts'
import { createSpanSearch, matchedOf, type Direction, type FoundSpans, type SpanSearch } from './span-search.ts'
import type { MatchedSpan } from './trace-answer.ts'
import type { TraceDocument } from './trace-document.ts'
import { sortKeyOf, type TraceFilters, type TraceOrder, type TraceRequest, type Walk } from './trace-request.ts'

/** Result of a walk: traces in order, and where to go on (null: the end). `matched`: their matching spans, as far as the walk has seen them. */
type WalkedPage = Readonly<{
  traces: readonly TraceDocument[]
  next: SortKey | null
  matched: ReadonlyMap<string, readonly MatchedSpan[]>
}>

/** The most index pages that are read for one page of an answer. Then the page is short, with a cursor. */
const stepsMax = 50
const leftOutMax = 2_000
/**
 * If a step finds fewer than one trace per `fewAmong` spans, the next step takes `growth` times as many spans, up to `stepSpansMax`: for some
 * searches a step takes the same time for any number.
 */
const growth = 4
const fewAmong = 20
const stepSpansMax = 2_000
/** Up to this many matching spans, their traces are found first and ordered afterwards. */
const matchingSpansMax = 5_000

const orders: Readonly<Record<TraceOrder, Readonly<{ orderBy: string; direction: Direction }>>> = {
  newest: { orderBy: 'timeNs', direction: 'desc' },
  oldest: { orderBy: 'timeNs', direction: 'asc' },
  longest: { orderBy: 'duration_ns', direction: 'desc' },
  most_spans: { orderBy: 'span_count', direction: 'desc' },
  errors: { orderBy: 'error_count', direction: 'desc' },
}

/** Traces that may have a span in the range: they start before its end, and their last span starts after its beginning. */
function mayReach({ fromNs, toNs }: TraceRequest): Selection {
  return {
    filter: fromNs === undefined ? all : { kind: 'number', field: 'last_start_ns', from: fromNs },
    toNs,
  }
}

/** Whether a trace starts before the range and continues after it, so that perhaps no span is in the range. */
function straddles({ fromNs, toNs }: TraceRequest, { summary: { startNs, lastStartNs } }: TraceDocument): boolean {
  if (fromNs === undefined || toNs === undefined) return false
  return BigInt(startNs ?? 0) < fromNs && BigInt(lastStartNs ?? 0) >= toNs
}

type Found = Readonly<{ traceId: string; sort: SortKey }>

/** Collects traces, each once, until there is one more than the page holds. */
function createPage({ request }: Walk) {
  const found = new Map<string, SortKey>()
  let last: SortKey | undefined
  return {
    /** True if the page is full and this trace begins the next one. */
    add({ traceId, sort }: Found): boolean {
      if (found.has(traceId)) return false
      if (found.size === request.limit) return true
      found.set(traceId, sort)
      last = sort
      return false
    },
    traceIds: (): readonly string[] => [...found.keys()],
    last: (): SortKey | null => last ?? null,
  }
}

const startOf = ({ request }: Walk): SortKey | undefined =>
  request.after === undefined ? undefined : sortKeyOf(request.after)

function createTraceSearch({ reader, workspaceId, request }: Walk, filter: Filter) {
  const { orderBy, direction } = orders[request.order]
  const { filter: reaches, ...bounds } = mayReach(request)
  const scope = tracesScope(workspaceId, 'traces')
  return (more: Filter, limit: number, after?: SortKey): Promise<readonly Hit<TraceDocument>[]> =>
    reader.search<TraceDocument>(scope, {
      ...bounds,
      filter: join('and', [filter, reaches, more]),
      orderBy,
      direction,
      limit,
      after,
    })
}

/** Walks trace documents in an order; with `spans`, only traces that have a matching span. */
export async function walkTraces(
  walk: Walk,
  { traces: filter, meets }: Pick<TraceFilters, 'traces' | 'meets'>,
  spans: SpanSearch | undefined,
): Promise<WalkedPage> {
  const { reader, workspaceId, request } = walk
  const search = createTraceSearch(walk, filter)
  const spansInRange = createSpanSearch(reader, workspaceId, all, request)
  const known = new Map<string, TraceDocument>()

  /** The hits that list their trace. Of several documents of a trace, only the first in this order does. */
  async function admit(hits: readonly Hit<TraceDocument>[]): Promise<readonly Found[]> {
    const ids = hits.map(({ document }) => document.traceId)
    const straddling = hits
      .filter(({ document }) => straddles(request, document))
      .map(({ document }) => document.traceId)
    const [matching, reaching, { traces, continued }, passed] = await askInOrder(reader, [
      async () => spans?.tracesWith(ids, 'desc'),
      () => spansInRange.tracesWith(straddling, 'desc'),
      () => readTraces(reader, workspaceId, ids),
      () => passedTraces(walk, ids, traceIsPassed(request.order)),
    ])
    const outside = new Set(straddling.filter((traceId) => !reaching.has(traceId)))
    const admitted: Found[] = []
    for (const hit of hits) {
      const { traceId, generation } = hit.document
      if (outside.has(traceId) || matching?.has(traceId) === false || passed.has(traceId)) continue
      const [first] = continued.has(traceId) ? await search(inTraces([traceId]), 1) : [hit]
      const trace = traces.get(traceId) ?? hit.document
      if (first?.document.generation !== generation || !meets(trace)) continue
      known.set(traceId, trace)
      admitted.push({ traceId, sort: hit.sort })
    }
    return admitted
  }

  const page = createPage(walk)
  const answer = (next: SortKey | null): WalkedPage => ({
    traces: page.traceIds().flatMap((traceId) => known.get(traceId) ?? []),
    next,
    matched: new Map(),
  })
  let place = startOf(walk)
  for (let step = 0; step < stepsMax; step++) {
    const hits = await search(all, request.limit + 1, place)
    for (const found of await admit(hits)) if (page.add(found)) return answer(page.last())
    if (hits.length <= request.limit) return answer(null)
    place = hits.at(-1)?.sort
  }
  return answer(place ?? null)
}

/** Which of the traces meet the conditions on traces. */
async function thatMeet(
  { reader, workspaceId }: Walk,
  filter: Filter,
  traceIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const hits = await documentsOf(reader, workspaceId, traceIds, { filter })
  return new Set(hits.map(({ document }) => document.traceId))
}

/**
 * Walks matching spans by start, and lists each trace at its first. A later page leaves out a trace that has, or had, a matching span at or before
 * its cursor, so that one walk lists nothing twice.
 */
export async function walkSpans(walk: Walk, filters: TraceFilters, spans: SpanSearch): Promise<WalkedPage> {
  const { reader, workspaceId, request } = walk
  const [direction, back] = request.order === 'oldest' ? (['asc', 'desc'] as const) : (['desc', 'asc'] as const)
  const start = startOf(walk)
  const leftOut = start === undefined ? [] : [traceIdOfSpanRecord(start.id)]

  async function admit(found: readonly FoundSpans[]): Promise<readonly FoundSpans[]> {
    const ids = found.map(({ traceId }) => traceId)
    const [before, passed, met] = await askInOrder(reader, [
      async () => (start === undefined ? undefined : spans.tracesWith(ids, back, start)),
      () => passedTraces(walk, ids, spanIsPassed(request.order)),
      async () => (filters.tracesAreNarrowed ? thatMeet(walk, filters.traces, ids) : undefined),
    ])
    return found.filter(
      ({ traceId }) => before?.has(traceId) !== true && !passed.has(traceId) && met?.has(traceId) !== false,
    )
  }

  const page = createPage(walk)
  const known = new Map<string, FoundSpans>()
  const answer = async (next: SortKey | null): Promise<WalkedPage> => {
    const { traces: read } = await readTraces(reader, workspaceId, page.traceIds())
    const whole = page.traceIds().flatMap((traceId) => read.get(traceId) ?? [])
    const traces = whole.filter(filters.meets)
    const matched = new Map<string, readonly MatchedSpan[]>()
    for (const { traceId, summary } of traces) {
      const found = known.get(traceId)
      const spans = found && matchedOf(found, summary, direction)
      if (spans !== undefined) matched.set(traceId, spans)
    }
    return { traces, next, matched }
  }
  let place = start
  const usual = Math.max(50, request.limit * 4)
  let limit = request.limit * 2 + 10
  for (let step = 0; step < stepsMax && leftOut.length < leftOutMax; step++) {
    const { found, last, isEnd } = await spans.nextTraces(leftOut, { limit, direction, after: place })
    for (const one of await admit(found)) {
      if (page.add(one)) return answer(page.last())
      known.set(one.traceId, one)
    }
    if (isEnd) return answer(null)
    for (const { traceId } of found) leftOut.push(traceId)
    place = last
    const isFew = found.length * fewAmong < limit
    limit = isFew ? Math.max(usual, Math.min(stepSpansMax, limit * growth)) : usual
  }
  return answer(place ?? null)
}

/** Traces with conditions on spans, ordered by a number of the trace. */
export async function walkByNumber(walk: Walk, filters: TraceFilters, spans: SpanSearch): Promise<WalkedPage> {
  const few = await spans.allTraces(matchingSpansMax)
  if (few === undefined) return walkTraces(walk, filters, spans)
  // All of them have such a span in the range, perhaps in another document than the one that meets the conditions, so the range is dropped.
  const { fromNs: _from, toNs: _to, ...request } = walk.request
  const traces = join('and', [filters.traces, inTraces([...few])])
  return walkTraces({ ...walk, request }, { ...filters, traces }, undefined)
}
