import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Filter, Hit, IndexQuery, IndexReader, Scope, Selection, SortKey } from '../index-store.ts'
import { isOneOf, join } from '../reading/filters.ts'
import type { TraceDocument } from './trace-document.ts'
import type { TracePart } from './trace-part.ts'
import { summarizeAcross } from './trace-summary.ts'

export const tracesScope = (workspaceId: WorkspaceId, collection: string): Scope => ({
  workspaceId,
  projection: 'traces',
  collection,
})

export const inTraces = (traceIds: readonly string[]): Filter => isOneOf('trace_id', traceIds)

/** The most documents that are read of a trace. It has one, or several if it was continued. */
const documentsMax = 8

/** The documents of these traces that match the filter. */
export const documentsOf = (
  reader: IndexReader,
  workspaceId: WorkspaceId,
  traceIds: readonly string[],
  { filter, ...more }: Pick<Selection, 'filter' | 'since'>,
): Promise<readonly Hit<TraceDocument>[]> =>
  reader.search<TraceDocument>(tracesScope(workspaceId, 'traces'), {
    ...more,
    filter: join('and', [filter, inTraces(traceIds)]),
    orderBy: 'position',
    direction: 'desc',
    limit: traceIds.length * documentsMax,
  })

const pageMax = 500
const partsPageMax = 16

/** The documents of these traces, page by page. The order must give two documents of one id different places. */
async function* searchPages<Document extends object>(
  reader: IndexReader,
  scope: Scope,
  traceIds: readonly string[],
  page: Partial<Pick<IndexQuery, 'orderBy' | 'direction' | 'limit'>> = {},
): AsyncGenerator<readonly Hit<Document>[]> {
  if (traceIds.length === 0) return
  const { orderBy = 'position', direction = 'asc', limit = pageMax } = page
  let after: SortKey | undefined
  for (;;) {
    const hits = await reader.search<Document>(scope, {
      filter: inTraces(traceIds),
      orderBy,
      direction,
      limit,
      after,
    })
    if (hits.length > 0) yield hits
    if (hits.length < limit) return
    after = hits.at(-1)?.sort
  }
}

/** The parts of all documents of a trace, the oldest document first (`desc`: the newest), in pages of about a megabyte. */
export async function* partPages(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  traceId: string,
  direction: IndexQuery['direction'] = 'asc',
): AsyncGenerator<readonly TracePart[]> {
  const page = { orderBy: 'timeNs', direction, limit: partsPageMax }
  const found = searchPages<TracePart>(reader, tracesScope(workspaceId, 'parts'), [traceId], page)
  for await (const hits of found) yield hits.map(({ document }) => document)
}

async function mergeDocuments(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  documents: readonly TraceDocument[],
): Promise<TraceDocument | undefined> {
  const [first, ...later] = documents
  if (first === undefined || later.length === 0) return first
  return {
    ...first,
    summary: await summarizeAcross(partPages(reader, workspaceId, first.traceId, 'desc')),
    hasLogs: documents.some(({ hasLogs }) => hasLogs),
    hasRum: documents.some(({ hasRum }) => hasRum),
    joinedSessions: [...new Set(documents.flatMap(({ joinedSessions }) => joinedSessions))],
  }
}

type ReadTraces = Readonly<{
  traces: ReadonlyMap<string, TraceDocument>
  /** Traces that were continued after seven days and so have several documents. */
  continued: ReadonlySet<string>
}>

/** The traces of these ids, each with its documents merged, including traces without a span. */
export async function readTraces(
  reader: IndexReader,
  workspaceId: WorkspaceId,
  traceIds: readonly string[],
): Promise<ReadTraces> {
  // By generation, because a document that changes during the reading may be read twice.
  const found = new Map<string, Map<string, TraceDocument>>()
  for await (const hits of searchPages<TraceDocument>(reader, tracesScope(workspaceId, 'traces'), traceIds)) {
    for (const { document } of hits) {
      const { traceId, generation } = document
      found.set(traceId, (found.get(traceId) ?? new Map<string, TraceDocument>()).set(generation, document))
    }
  }
  const traces = new Map<string, TraceDocument>()
  const continued = new Set<string>()
  for (const [traceId, generations] of found) {
    const documents = [...generations.values()].sort((a, b) => a.generation.localeCompare(b.generation))
    if (documents.length > 1) continued.add(traceId)
    const merged = await mergeDocuments(reader, workspaceId, documents)
    if (merged !== undefined) traces.set(traceId, merged)
  }
  return { traces, continued }
}
