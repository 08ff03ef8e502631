import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { CorrelationAnswer, Searches } from '#src/query/searches.ts'
import { traceAddress } from './trace-address.ts'

type Trace = NonNullable<CorrelationAnswer['trace']>
/** The nearest errors of a trace on pages beside one of its pages, as links: address and words. */
export type ErrorsBeside = readonly (readonly [string, string])[]

/** Where a page of a trace does not show all of its errors: the last before it, and the first after it. One that cannot be had now is left out. */
export async function findErrorsBeside(
  searches: Pick<Searches, 'nearestError'>,
  workspaceId: WorkspaceId,
  { spans, summary, next_cursor: next }: Trace,
  isFirst: boolean,
): Promise<ErrorsBeside> {
  const [first, last] = [spans[0], spans.at(-1)]
  const errors = spans.filter(({ status }) => status.code === 'error')
  if (first === undefined || last === undefined || errors.length >= summary.error_count) return []
  const { trace_id: traceId } = summary
  const linkTo = async (words: string, spanId: string, direction: 'asc' | 'desc'): Promise<ErrorsBeside> => {
    const found = await searches.nearestError(workspaceId, traceId, { spanId, direction })
    return found.ok && found.value !== undefined ? [[traceAddress(traceId, found.value), words]] : []
  }
  const [before, after] = await Promise.all([
    isFirst ? [] : linkTo('Error on an earlier page', first.span_id, 'desc'),
    next === null ? [] : linkTo('Error on a later page', last.span_id, 'asc'),
  ])
  return [...before, ...after]
}
