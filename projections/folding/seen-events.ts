import type { Position } from '#src/events/envelope.ts'
import { dayMs } from '#src/lib/day.ts'
import type { Collection, DecodedEvent, Documents, Key, Projection } from '../projection.ts'

/** An event that counted: its position, its time of receipt (ms), and the numbers of its records. */
type First = readonly [position: Position, receivedAt: number, spans: number, logs: number, rumEvents: number]
/** The events of one id and type that counted on a day, usually one. */
type SeenEvent = Readonly<{ firsts: readonly First[] }>

const windowMs = 86_400_000

export const seenEvents: Collection<SeenEvent> = {
  name: 'seenEvents',
  kind: 'document',
  lookbackDays: 1,
  fields: {},
  searchable: ({ firsts }) => ({ timeNs: BigInt(firsts[0]?.[1] ?? 0) * 1_000_000n, fields: {} }),
}

/**
 * Each day has its own document, and today's event also looks for yesterday's, so the two have different ids. A single document that is folded
 * from day to day would stay on its first day, and be out of reach on the third.
 */
function keyOf({ event: { id, type, receivedAt } }: DecodedEvent, daysBefore: 0 | 1): Key<SeenEvent> {
  const isOdd = (Math.floor(receivedAt / dayMs) - daysBefore) % 2 !== 0
  return { collection: seenEvents, id: `${id}/${type}/${isOdd ? 'odd' : 'even'}` }
}

/** The events that counted less than 24 hours before. On a replay there may be later ones, which do not matter. */
function firstsBefore(event: DecodedEvent, documents: Pick<Documents, 'get'>): readonly First[] {
  const firsts = ([0, 1] as const).flatMap((daysBefore) => documents.get(keyOf(event, daysBefore))?.firsts ?? [])
  return firsts.filter(
    ([position, receivedAt]) => position < event.event.position && event.event.receivedAt - receivedAt < windowMs,
  )
}

const firstOf = ({ event: { position, receivedAt, counts } }: DecodedEvent): First => [
  position,
  receivedAt,
  counts.spans,
  counts.logs,
  counts.rumEvents,
]

/**
 * A request that was partly refused keeps its id when it is sent again and more of it is accepted. So only an event with the same numbers of
 * records is a repeat.
 */
const isSame = ([, , ...a]: First, [, , ...b]: First): boolean => a.every((count, index) => count === b[index])

/**
 * The event without the logs and browser events that an earlier event of its id held. These are accepted all or none (by the plan), and have no
 * identity of their own that would reveal a repeat. Spans have: they are told apart one by one.
 */
function withoutSeen(event: DecodedEvent, firsts: readonly First[]): DecodedEvent {
  const { counts } = event.event
  const hasLogs = firsts.some(([, , , logs]) => logs > 0 && logs >= counts.logs)
  const hasRumEvents = firsts.some(([, , , , rumEvents]) => rumEvents > 0 && rumEvents >= counts.rumEvents)
  if (!hasLogs && !hasRumEvents) return event
  const logs = hasLogs ? 0 : counts.logs
  const rumEvents = hasRumEvents ? 0 : counts.rumEvents
  return {
    event: { ...event.event, counts: { ...counts, logs, rumEvents } },
    spans: () => event.spans(),
    logs: () => (hasLogs ? [] : event.logs()),
    rumEvents: () => (hasRumEvents ? [] : event.rumEvents()),
    refusedSpans: () => event.refusedSpans(),
  }
}

/**
 * The projection with the rule for repeats: an identified event is skipped if one of the same id, type and numbers of records was folded at an
 * earlier position, less than 24 hours before (by `receivedAt`). If it holds more than the earlier ones, only the rest of it is folded. The log
 * refuses repeats only for an hour, but senders retry for longer.
 */
export function withSeenEvents(projection: Projection): Projection {
  return {
    ...projection,
    collections: { ...projection.collections, seenEvents },
    needs: (event, loaded) =>
      event.event.identified
        ? [keyOf(event, 0), keyOf(event, 1), ...projection.needs(event, loaded)]
        : projection.needs(event, loaded),
    fold(event, documents) {
      if (!event.event.identified) return projection.fold(event, documents)
      const [first, before] = [firstOf(event), firstsBefore(event, documents)]
      if (before.some((one) => isSame(one, first))) return
      documents.update(keyOf(event, 0), (seen) => ({ firsts: [...(seen?.firsts ?? []), first] }))
      projection.fold(withoutSeen(event, before), documents)
    },
  }
}
