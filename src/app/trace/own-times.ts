import { parseRfc3339Ns } from '#src/lib/time.ts'
import type { ShownSpan } from './span-tree.ts'

type Interval = readonly [startNs: bigint, endNs: bigint]

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

function intervalOf({ start, duration_ns: duration }: ShownSpan): Interval {
  const startNs = parseRfc3339Ns(start) ?? 0n
  return [startNs, startNs + BigInt(duration)]
}

/** How much of an interval is not covered by the others, which are sorted by start and may overlap. */
function freeOf([start, end]: Interval, others: readonly Interval[]): bigint {
  let [free, at] = [0n, start]
  for (const [from, to] of others) {
    if (from >= end) break
    if (from > at) free += from - at
    if (to > at) at = to
  }
  return at < end ? free + end - at : free
}

/** Times by service and operation, under a key of both. Spans that are not given count as own time of their parents. */
export function operationTimes(spans: readonly ShownSpan[]): ReadonlyMap<string, OperationTimes> {
  const below = new Map<string, Interval[]>()
  const ofSpan = new Map(spans.map((span) => [span, intervalOf(span)]))
  const byStart = [...ofSpan].toSorted(([, [a]], [, [b]]) => Number(a - b))
  for (const [{ span_id: id, parent_span_id: parent }, interval] of byStart) {
    if (parent === null || parent === id) continue
    const known = below.get(parent)
    if (known === undefined) below.set(parent, [interval])
    else known.push(interval)
  }
  const times = new Map<string, { -readonly [Name in keyof OperationTimes]: OperationTimes[Name] }>()
  for (const [{ span_id: id, service, name, status, duration_ns: duration }, interval] of ofSpan) {
    const key = JSON.stringify([service, name])
    const ownNs = freeOf(interval, below.get(id) ?? [])
    const most = { spanId: id, ownNs }
    const found = times.get(key) ?? { service, name, spans: 0, errors: 0, wholeNs: 0n, ownNs: 0n, most }
    found.spans += 1
    found.errors += status.code === 'error' ? 1 : 0
    found.wholeNs += BigInt(duration)
    found.ownNs += ownNs
    if (ownNs > found.most.ownNs) found.most = most
    times.set(key, found)
  }
  return times
}
