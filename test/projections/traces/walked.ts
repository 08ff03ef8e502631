import { expect } from 'chai'
import type { IndexReader } from '#projections/index-store.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { searchTraces } from '#projections/traces/query.ts'
import type { TraceSummary } from '#projections/traces/trace-answer.ts'
import type { TraceConditions, TraceRequest, WalkKey } from '#projections/traces/trace-request.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import type { QueryTree } from '#src/events/query-tree.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { dayMs } from '#src/lib/day.ts'
import { foldIntoStore, type NewStore } from './every-store.ts'
import { msNs, noonNs, traceIdOf, type GivenSpan } from './given.ts'

export const acme = workspaceIdOf('acme')

/** Of an event that came so many days after the records' noon. */
export const daysLater = (days: number) => ({ receivedAt: Number(noonNs / msNs) + days * dayMs })

export async function readerOf(newStore: NewStore, events: readonly DecodedEvent[]): Promise<IndexReader> {
  const store = newStore()
  await foldIntoStore(store, tracesProjection, events)
  return store.reader
}

const namesById = new Map<string, string>()
export const nameOf = ({ trace_id: id }: Pick<TraceSummary, 'trace_id'>): string => namesById.get(id) ?? id
export const spansOf = (name: string, spans: readonly GivenSpan[]): GivenSpan[] => {
  namesById.set(traceIdOf(name), name)
  return spans.map((span) => ({
    ...span,
    trace: name,
    id: `${name} ${span.id}`,
    ...(span.parent == null ? {} : { parent: `${name} ${span.parent}` }),
  }))
}

/** The names of all traces found, in order, page by page; no page may hold more than its limit. */
export async function walk(
  reader: IndexReader,
  conditions: TraceConditions & Partial<TraceRequest>,
  limit = 2,
): Promise<string[]> {
  const names: string[] = []
  let { after } = conditions
  for (let pages = 0; pages < 100; pages++) {
    const request = { order: 'newest' as const, ...conditions, limit, ...(after === undefined ? {} : { after }) }
    const { traces, next } = await searchTraces(reader, acme, request)
    expect(traces.length).to.be.at.most(limit)
    names.push(...traces.map(nameOf))
    if (next === null) return names
    after = JSON.parse(JSON.stringify(next)) as WalkKey
  }
  throw new Error('the walk does not end')
}

export const match = (field: string, text: string): QueryTree => ({ kind: 'match', field, text })
export const text = (words: string): QueryTree => ({ kind: 'text', text: words })
