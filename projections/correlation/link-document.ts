import { opaqueId } from '#src/events/tokens.ts'
import type { Collection, DocumentId } from '../projection.ts'

/** A session and a trace that one record has named together; the kind of record, and the time of the first one. */
export type LinkDocument = Readonly<{
  sessionId: string
  traceId: string
  by: 'span' | 'log' | 'rum_event'
  timeNs: string
}>

export const linkId = ({ sessionId, traceId, by }: LinkDocument): DocumentId => `${traceId}/${by}/${sessionId}`

/** Once a day for each distinct pair and kind of record. */
export const links: Collection<LinkDocument> = {
  name: 'links',
  kind: 'document',
  lookbackDays: 0,
  fields: { session_id: 'id', trace_id: 'id', by: 'keyword' },
  searchable: ({ sessionId, traceId, by, timeNs }) => ({
    timeNs: BigInt(timeNs),
    fields: { session_id: opaqueId(sessionId), trace_id: traceId, by },
  }),
}
