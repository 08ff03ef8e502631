import type { Position } from '#src/events/envelope.ts'
import type { Collection, DecodedEvent, Key, Projection } from './projection.ts'

/** When an event's id was folded: positions and times of receipt (ms) of those that counted, usually one. */
type SeenEvent = Readonly<{ firsts: readonly (readonly [Position, number])[] }>

const windowMs = 86_400_000

export const seenEvents: Collection<SeenEvent> = {
  name: 'seenEvents',
  kind: 'document',
  lookbackDays: 1,
  fields: {},
  searchable: ({ firsts }) => ({ timeNs: BigInt(firsts[0]?.[1] ?? 0) * 1_000_000n, fields: {} }),
}

/**
 * A request that was refused, whole or in part, keeps its id when it comes again and more of it is allowed: only an event of as
 * many records is the same one. What both hold of it is told apart record by record.
 */
function keyOf({ event: { id, type, counts } }: DecodedEvent): Key<SeenEvent> {
  const { spans, logs, rumEvents } = counts
  return { collection: seenEvents, id: `${id}/${type}/${spans}.${logs}.${rumEvents}` }
}

/** Later entries of the list are what a replay finds: only what stands before this event counts. */
function isRepeat(seen: SeenEvent | undefined, { event }: DecodedEvent): boolean {
  return (seen?.firsts ?? []).some(
    ([position, receivedAt]) => position < event.position && event.receivedAt - receivedAt < windowMs,
  )
}

/**
 * The projection with the rule of identified events: one whose like (same id, type and number of records) was folded at an
 * earlier position less than 24 hours before (by `receivedAt`) is left out. The log refuses repeats for an hour only; senders
 * retry for longer.
 */
export function withSeenEvents(projection: Projection): Projection {
  return {
    ...projection,
    collections: { ...projection.collections, seenEvents },
    needs: (event, loaded) =>
      event.event.identified ? [keyOf(event), ...projection.needs(event, loaded)] : projection.needs(event, loaded),
    fold(event, documents) {
      if (event.event.identified) {
        if (isRepeat(documents.get(keyOf(event)), event)) return
        const { position, receivedAt } = event.event
        const first = [position, receivedAt] as const
        documents.update(keyOf(event), (seen) => ({ firsts: [...(seen?.firsts ?? []), first] }))
      }
      projection.fold(event, documents)
    },
  }
}
