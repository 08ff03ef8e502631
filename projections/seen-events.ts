import type { Position } from '#src/events/envelope.ts'
import { dayMs } from '#src/lib/day.ts'
import type { Collection, DecodedEvent, Documents, Key, Projection } from './projection.ts'

/** An event that counted: its position and time of receipt (ms), and what it held. */
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
 * Each day has a document of its own, though today's event also looks for yesterday's: they have different ids. Were one folded on
 * from day to day it would stay on its first day, and be out of reach on the third.
 */
function keyOf({ event: { id, type, receivedAt } }: DecodedEvent, daysBefore: 0 | 1): Key<SeenEvent> {
  const isOdd = (Math.floor(receivedAt / dayMs) - daysBefore) % 2 !== 0
  return { collection: seenEvents, id: `${id}/${type}/${isOdd ? 'odd' : 'even'}` }
}

/** Those that counted less than 24 hours before. Later entries are what a replay finds: they do not. */
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
 * A request that was refused, whole or in part, keeps its id when it comes again and more of it is allowed: only an event of as
 * many records is the same one.
 */
const isSame = ([, , ...a]: First, [, , ...b]: First): boolean => a.every((count, index) => count === b[index])

/**
 * The event without the logs and browser events that an earlier one of its id held: those are refused all or none (by the plan),
 * and have nothing that tells a repeat, not even their place where others were left out before them. Spans are told apart one by one.
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
 * The projection with the rule of identified events: one whose like (same id, type and number of records) was folded at an
 * earlier position less than 24 hours before (by `receivedAt`) is left out; of one that holds more than those before it, what they
 * held. The log refuses repeats for an hour only; senders retry for longer.
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
