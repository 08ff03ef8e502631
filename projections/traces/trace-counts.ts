import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { join } from '../field-query.ts'
import { countOverTime } from '../histogram.ts'
import type { Facet, IndexReader, Scope, Selection } from '../index-store.ts'
import { isStored } from './span-document.ts'
import { tracesScope } from './trace-answer.ts'
import type { TraceFilters, TraceRequest } from './trace-request.ts'

/** Counts over time of what was asked: `of` traces, each at its start, or of the spans that meet the conditions. */
export type TraceHistogram = Readonly<{
  of: 'traces' | 'spans'
  step_ms: number
  /** `and_later`: the last one, which has no end. */
  buckets: readonly Readonly<{ time: string; total: number; errors: number; and_later?: true }>[]
}>

/** Null where conditions on traces are met by too many to be counted span by span. */
export type TraceCounts = Readonly<{ histogram?: TraceHistogram | null; facets?: readonly Facet[] | null }>

const facetValuesMax = 20

type Counted = Readonly<{ of: TraceHistogram['of']; scope: Scope; selection: Selection }>

/** What is counted: the traces, or the matching spans. Superseded spans have no duration. */
function countedOf(workspaceId: WorkspaceId, { spans, traces }: TraceFilters, { fromNs, toNs }: TraceRequest): Counted {
  const range = { ...(fromNs === undefined ? {} : { fromNs }), ...(toNs === undefined ? {} : { toNs }) }
  const of = spans === undefined ? 'traces' : 'spans'
  const filter = spans === undefined ? traces : join('and', [spans, isStored])
  return { of, scope: tracesScope(workspaceId, of), selection: { filter, ...range } }
}

async function histogramOf(
  reader: IndexReader,
  { of, scope, selection }: Counted,
  farNs: bigint | undefined,
): Promise<TraceHistogram> {
  const by = of === 'traces' ? 'has' : 'status'
  const { stepMs, buckets } = await countOverTime(reader, { scope, selection, by, farNs })
  return {
    of,
    step_ms: stepMs,
    buckets: buckets.map(({ startNs, total, by, andLater }) => ({
      time: formatTimeNs(startNs),
      total,
      errors: by['error'] ?? 0,
      ...(andLater === undefined ? {} : { and_later: andLater }),
    })),
  }
}

/** What a request wants counted: over time, and by the most frequent values. */
export async function countTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  filters: TraceFilters,
  request: TraceRequest,
): Promise<TraceCounts> {
  const { include = [], farNs } = request
  const uncountable = filters.spans !== undefined && filters.tracesAreNarrowed
  const counted = countedOf(workspaceId, filters, request)
  const fields = ['service', 'operation', ...(counted.of === 'traces' ? ['has'] : ['kind', 'status'])]
  const facets = () => reader.facets(counted.scope, counted.selection, fields, facetValuesMax)
  return {
    ...(include.includes('histogram')
      ? { histogram: uncountable ? null : await histogramOf(reader, counted, farNs) }
      : {}),
    ...(include.includes('facets') ? { facets: uncountable ? null : await facets() } : {}),
  }
}
