import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Facet, IndexReader } from '../index-store.ts'
import { join } from '../reading/filters.ts'
import { countOverTime, stepsOf, type Counted, type Steps } from '../reading/histogram.ts'
import { tracesScope } from './read-traces.ts'
import { isStored } from './span-document.ts'
import type { TraceFilters, TraceRequest } from './trace-request.ts'

/** Counts over time: of traces, each at its start, or of the spans that meet the conditions. */
type TraceHistogram = Readonly<{
  of: 'traces' | 'spans'
  step_ms: number
  /** `and_later`: marks the last bucket, which has no end. */
  buckets: readonly Readonly<{ time: string; total: number; errors: number; and_later?: true }>[]
}>

/** Null if too many traces meet the conditions on traces to count their spans. */
export type TraceCounts = Readonly<{ histogram?: TraceHistogram | null; facets?: readonly Facet[] | null }>

const facetValuesMax = 20

type CountedTraces = Counted & Readonly<{ of: TraceHistogram['of'] }>

/** What is counted: the traces, or the matching spans. Superseded spans have no duration. */
function countedOf(workspaceId: WorkspaceId, { spans, traces }: TraceFilters, request: TraceRequest): CountedTraces {
  const { fromNs, toNs, farNs } = request
  const of = spans === undefined ? 'traces' : 'spans'
  const filter = spans === undefined ? traces : join('and', [spans, isStored])
  return { of, scope: tracesScope(workspaceId, of), selection: { filter, fromNs, toNs }, farNs }
}

async function histogramOf(reader: IndexReader, counted: CountedTraces, steps: Steps): Promise<TraceHistogram> {
  const { of } = counted
  const by = of === 'traces' ? 'has' : 'status'
  const { stepMs, buckets } = await countOverTime(reader, { ...counted, by }, steps)
  return {
    of,
    step_ms: stepMs,
    buckets: buckets.map(({ time, total, by, ...later }) => ({ time, total, errors: by['error'] ?? 0, ...later })),
  }
}

/** The counts that a request asks for: over time, and by the most frequent values. */
export async function countTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  filters: TraceFilters,
  request: TraceRequest,
): Promise<TraceCounts> {
  const { include = [] } = request
  const [isOverTime, isByValue] = [include.includes('histogram'), include.includes('facets')]
  if (filters.spans !== undefined && filters.tracesAreNarrowed)
    return { ...(isOverTime ? { histogram: null } : {}), ...(isByValue ? { facets: null } : {}) }
  const counted = countedOf(workspaceId, filters, request)
  const fields = ['service', 'operation', ...(counted.of === 'traces' ? ['has'] : ['kind', 'status'])]
  // Computed first, so that the other queries run together: they then see the same moment, and their common rows are walked once.
  const steps = isOverTime ? await stepsOf(reader, counted) : undefined
  const [histogram, facets] = await Promise.all([
    steps === undefined ? undefined : histogramOf(reader, counted, steps),
    isByValue ? reader.facets(counted.scope, counted.selection, fields, facetValuesMax) : undefined,
  ])
  return { ...(histogram === undefined ? {} : { histogram }), ...(facets === undefined ? {} : { facets }) }
}
