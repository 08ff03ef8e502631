import { lengthNs, timesOf, type Range } from './shown-range.ts'
import type { ShownSpan } from './span-tree.ts'

/** Times of one operation of a service: of all its spans, and of that the time in which no child was running. */
export type OperationTimes = Readonly<{
  service: string
  name: string
  spans: number
  errors: number
  wholeNs: bigint
  ownNs: bigint
  /** The span with the most own time. */
  most: Readonly<{ spanId: string; ownNs: bigint }>
}>

/** How much of a range is not covered by the others, which are sorted by start and may overlap. */
function freeOf({ startNs, endNs }: Range, others: readonly Range[]): bigint {
  let [free, at] = [0n, startNs]
  for (const other of others) {
    if (other.startNs >= endNs) break
    if (other.startNs > at) free += other.startNs - at
    if (other.endNs > at) at = other.endNs
  }
  return at < endNs ? free + endNs - at : free
}

/** Times by service and operation, under a key of both. Spans that are not given count as own time of their parents. */
export function operationTimes(spans: readonly ShownSpan[]): ReadonlyMap<string, OperationTimes> {
  const below = new Map<string, Range[]>()
  const ofSpan = new Map(spans.map((span) => [span, timesOf(span)]))
  const byStart = [...ofSpan].toSorted(([, a], [, b]) => Number(a.startNs - b.startNs))
  for (const [{ span_id: id, parent_span_id: parent }, range] of byStart) {
    if (parent === null || parent === id) continue
    const known = below.get(parent)
    if (known === undefined) below.set(parent, [range])
    else known.push(range)
  }
  const times = new Map<string, { -readonly [Name in keyof OperationTimes]: OperationTimes[Name] }>()
  for (const [{ span_id: id, service, name, status }, range] of ofSpan) {
    const key = JSON.stringify([service, name])
    const ownNs = freeOf(range, below.get(id) ?? [])
    const most = { spanId: id, ownNs }
    const found = times.get(key) ?? { service, name, spans: 0, errors: 0, wholeNs: 0n, ownNs: 0n, most }
    found.spans += 1
    found.errors += status.code === 'error' ? 1 : 0
    found.wholeNs += lengthNs(range)
    found.ownNs += ownNs
    if (ownNs > found.most.ownNs) found.most = most
    times.set(key, found)
  }
  return times
}
