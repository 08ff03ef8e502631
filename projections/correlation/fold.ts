import { memoize } from '#src/lib/memoize.ts'
import {
  identityOf,
  recordId,
  type DecodedEvent,
  type DocumentId,
  type Documents,
  type Key,
  type Projection,
} from '../projection.ts'
import { linkId, links, type LinkDocument } from './link-document.ts'
import { rumEventDocument, rumEvents } from './rum-event-document.ts'

type Linked = Readonly<{ sessionId: string | null; traceId: string | null }>

/** The links that the event makes, by document id; the first record of each pair counts. */
const linksOf = memoize((event: DecodedEvent): ReadonlyMap<DocumentId, LinkDocument> => {
  const found = new Map<DocumentId, LinkDocument>()
  const add = ({ sessionId, traceId }: Linked, by: LinkDocument['by'], timeNs: bigint): void => {
    if (sessionId === null || traceId === null) return
    const link = { sessionId, traceId, by, timeNs: timeNs.toString() }
    const id = linkId(link)
    if (!found.has(id)) found.set(id, link)
  }
  for (const span of event.spans()) add(span, 'span', span.startNs)
  for (const log of event.logs()) add(log, 'log', log.timeNs)
  for (const rumEvent of event.rumEvents()) add(rumEvent, 'rum_event', rumEvent.timeNs)
  return found
})

const linkKey = (id: DocumentId): Key<LinkDocument> => ({ collection: links, id })

function fold(event: DecodedEvent, documents: Documents): void {
  const identity = identityOf(event)
  for (const rumEvent of event.rumEvents()) {
    const key = { collection: rumEvents, id: recordId(rumEvent.timeNs, identity, rumEvent.ordinal) }
    documents.put(key, rumEventDocument(rumEvent))
  }
  for (const [id, link] of linksOf(event)) documents.update(linkKey(id), (known) => known ?? link)
}

/** Browser events, and which sessions and traces were named together by one record. */
export const correlationProjection: Projection = {
  name: 'correlation',
  version: 21,
  handles: ['spans.received', 'logs.received', 'rum.received'],
  collections: { rumEvents, links },
  needs: (event) => [...linksOf(event).keys()].map(linkKey),
  fold,
}
