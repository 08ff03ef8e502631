import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { CorrelationAnswer, Searches } from '#src/query/searches.ts'
import { spanPlace, traceAddress, type KeptOfTrace } from '../trace-address.ts'

type Trace = NonNullable<CorrelationAnswer['trace']>
/** Links to errors of a trace: address and text. */
export type ErrorLinks = readonly (readonly [string, string])[]

const errorsOf = ({ spans }: Pick<Trace, 'spans'>) => spans.filter(({ status }) => status.code === 'error')

/** The first error of a page, and the first without an error below it: errors usually propagate to all spans above their origin. */
export function errorsHere(trace: Trace): ErrorLinks {
  const errors = errorsOf(trace)
  const handedOn = new Set(errors.map(({ parent_span_id: parent }) => parent))
  const [first] = errors
  const innermost = errors.find(({ span_id: id }) => !handedOn.has(id))
  return [
    ...(first === undefined ? [] : [[`#${spanPlace(first.span_id)}`, 'First error'] as const]),
    ...(innermost === undefined || innermost === first
      ? []
      : [[`#${spanPlace(innermost.span_id)}`, 'Innermost error'] as const]),
  ]
}

/** If a page does not show all errors of its trace: the last error before it, and the first after it. One that is not available now is left out. */
export async function findErrorsBeside(
  searches: Pick<Searches, 'nearestError'>,
  workspaceId: WorkspaceId,
  trace: Trace,
  { isFirst, ...kept }: KeptOfTrace & Readonly<{ isFirst: boolean }>,
): Promise<ErrorLinks> {
  const { spans, summary, next_cursor: next } = trace
  const [first, last] = [spans[0], spans.at(-1)]
  const errors = errorsOf(trace)
  if (first === undefined || last === undefined || errors.length >= summary.error_count) return []
  const { trace_id: traceId } = summary
  const linkTo = async (words: string, spanId: string, direction: 'asc' | 'desc'): Promise<ErrorLinks> => {
    const found = await searches.nearestError(workspaceId, traceId, { spanId, direction })
    return found.ok && found.value !== undefined ? [[traceAddress(traceId, found.value, kept), words]] : []
  }
  const [before, after] = await Promise.all([
    isFirst ? [] : linkTo('Error on an earlier page', first.span_id, 'desc'),
    next === null ? [] : linkTo('Error on a later page', last.span_id, 'asc'),
  ])
  return [...before, ...after]
}
