import type { LogItem } from '../logs/log-item.ts'
import type { TraceRead } from '../traces/read-trace.ts'
import type { TraceSummary } from '../traces/trace-answer.ts'
import type { RumEventItem } from './rum-event-document.ts'

/** One thing that happened. `ref` is its id among the items of that kind in the same answer. */
export type TimelineEntry = Readonly<{ time: string; kind: 'span' | 'trace' | 'log' | 'rum_event'; ref: string }>

type Items<Item> = Readonly<{ items: readonly Item[] }> | null

type Shown = Readonly<{
  trace: Pick<TraceRead, 'spans' | 'summary'> | null
  traces: Items<TraceSummary>
  logs: Items<LogItem>
  rum_events: Items<RumEventItem>
}>

/** Entries of traces. A trace that is shown without its spans has one entry, at its start. */
function traceEntries({ trace, traces }: Shown): readonly TimelineEntry[] {
  const spans = trace?.spans ?? []
  const others = (traces?.items ?? []).filter(({ trace_id: id }) => id !== trace?.summary.trace_id)
  return [
    ...spans.map(({ start, span_id: ref }) => ({ time: start, kind: 'span' as const, ref })),
    ...others.flatMap(({ start, trace_id: ref }) =>
      start === null ? [] : [{ time: start, kind: 'trace' as const, ref }],
    ),
  ]
}

function recordEntries(kind: 'log' | 'rum_event', records: Items<Readonly<{ id: string; timestamp: string }>>) {
  return (records?.items ?? []).map(({ id, timestamp }): TimelineEntry => ({ time: timestamp, kind, ref: id }))
}

/** All items of an answer in order of time. */
export function timelineOf(shown: Shown): readonly TimelineEntry[] {
  const entries = [
    ...traceEntries(shown),
    ...recordEntries('log', shown.logs),
    ...recordEntries('rum_event', shown.rum_events),
  ].map((entry) => ({ entry, order: `${entry.time}/${entry.kind}/${entry.ref}` }))
  return entries.sort((a, b) => (a.order < b.order ? -1 : 1)).map(({ entry }) => entry)
}
