import type { TelemetryEventType } from '#src/events/envelope.ts'
import type { DecodedEvent, Key, Projection } from '../projection.ts'
import { dayOf } from '#src/lib/day.ts'
import { addKeyUse, keyUseCollection, type KeyUse } from './key-use.ts'
import {
  addUsage,
  refusalCollection,
  refusalsOf,
  usageCollection,
  type RefusalCounts,
  type RefusalDocument,
  type UsageOfDay,
} from './usage-document.ts'

const usageKey = ({ event }: DecodedEvent): Key<UsageOfDay> => ({
  collection: usageCollection,
  id: dayOf(event.receivedAt),
})

function refusalKey({ event }: DecodedEvent, reason: string): Key<RefusalDocument> {
  const id = [dayOf(event.receivedAt), event.type, reason, event.keyId ?? ''].join('/')
  return { collection: refusalCollection, id }
}

const keyUseKey = (keyId: string): Key<KeyUse> => ({ collection: keyUseCollection, id: keyId })

/** Counts refusals. Those in `spans.refused` have their reasons in the payload; all others are in headers. */
const refusalsIn = (event: DecodedEvent): RefusalCounts =>
  refusalsOf(event.event, event.event.type === 'spans.refused' ? event.refusedSpans() : [])

/** What a workspace has used and what was refused, by month, day, key of receipt and service; and when keys were used. */
export const allowanceProjection: Projection = {
  name: 'allowance',
  version: 13,
  // A month stays complete for a week after its end.
  keptDaysMin: 38,
  handles: ['spans.received', 'logs.received', 'rum.received', 'spans.refused'],
  collections: { usage: usageCollection, refusals: refusalCollection, keyUse: keyUseCollection },
  needs: (event) => [
    usageKey(event),
    ...Object.keys(refusalsIn(event)).map((reason) => refusalKey(event, reason)),
    ...(event.event.keyId === null ? [] : [keyUseKey(event.event.keyId)]),
  ],
  fold(event, documents) {
    const header = event.event
    const refusals = refusalsIn(event)
    documents.update(usageKey(event), (document) => addUsage(document, event, refusals))
    const { keyId } = header
    if (keyId !== null) documents.update(keyUseKey(keyId), (document) => addKeyUse(document, keyId, event, refusals))
    for (const [reason, count] of Object.entries(refusals)) {
      documents.update(refusalKey(event, reason), (document) => ({
        day: dayOf(header.receivedAt),
        keyId: header.keyId,
        eventType: header.type as TelemetryEventType,
        reason,
        count: (document?.count ?? 0) + count,
      }))
    }
  },
}
