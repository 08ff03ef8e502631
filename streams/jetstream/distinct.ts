import { beforeAll, besideId, type EventId, type Position } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { appendedOf, repeatWindowMs, type Appended, type AppendedEvent } from '../stream.ts'
import { headerOf, type Found, type Ids } from './ids.ts'
import type { PackedEvent } from './message.ts'

/** One id of a call: its first event, and what is known about it. Other events of the call with this id are repeats. */
export type Distinct = {
  readonly packed: PackedEvent
  /** The message id that the server gets for it. */
  key: string
  /** The event of the log that it repeats. */
  found: Found | undefined
  /** Where it was written. */
  position: Position
}

export function distinctOf(events: readonly PackedEvent[], ids: Ids, log: string): ReadonlyMap<EventId, Distinct> {
  const distinct = new Map<EventId, Distinct>()
  for (const packed of events) {
    const { id, receivedAt } = packed.event
    const first = distinct.get(id)?.packed.event
    if (first === undefined) {
      distinct.set(id, { packed, key: ids.firstKey(id), found: undefined, position: beforeAll })
    } else if (Math.abs(receivedAt - first.receivedAt) >= repeatWindowMs) {
      const hint = `two events of one call, an hour apart, have the id ${id}`
      throw new PermanentError({ operation: 'append to', subject: log, hint })
    }
  }
  return distinct
}

/** What belongs beside an event that the log has is not written either (`Stream.append`). */
export function findBeside(distinct: ReadonlyMap<EventId, Distinct>): void {
  for (const [id, { found }] of distinct) {
    const beside = distinct.get(besideId(id))
    if (beside !== undefined) beside.found ??= found
  }
}

/** The answer to a call, once each id has its position. */
export function answerOf(events: readonly PackedEvent[], distinct: ReadonlyMap<EventId, Distinct>): Appended {
  const given = new Set<EventId>()
  const places = events.map(({ event }): AppendedEvent => {
    const { packed, found, position } = distinct.get(event.id) as Distinct
    if (found !== undefined) return { position: found.position, repeated: found.header }
    if (given.has(event.id)) return { position, repeated: headerOf(packed.event) }
    given.add(event.id)
    return { position }
  })
  return appendedOf(places)
}
