import { hash } from 'node:crypto'
import type { EventHeader, EventId, NewEvent, Position } from '#src/events/envelope.ts'
import { repeatWindowMs } from '../stream.ts'
import type { Publisher } from './publish.ts'
import type { MessageSource } from './message-source.ts'
import type { Subjects } from './subjects.ts'

export type Found = Readonly<{ position: Position; header: EventHeader }>

/**
 * What the server knows of an id: an event that holds it at that time, or the key under which it is free.
 */
type Sought = Readonly<{ found: Found | undefined; freeKey: string }>

/** 128 bits: short, because the server keeps it in memory for an hour, and safe in a header whatever the id contains. */
export const keyOf = (id: EventId): string => hash('sha256', id, 'base64url').slice(0, 22)

/** The key for an id whose holder, at this sequence, is an hour or more away. Every process makes the same key. */
const nextKey = (id: EventId, holder: number): string => `${keyOf(id)}.${holder}`

export const headerOf = (event: NewEvent & Readonly<{ position?: Position }>): EventHeader => {
  const { payload: _, position: __, ...header } = event
  return header
}

export type Ids = Readonly<{
  firstKey(id: EventId): string
  /** Reads the holder that the server named: the event, or the next key to try if it is an hour or more from `at`. */
  judge(id: EventId, at: number, holder: number): Promise<Found | string>
  /** Follows the keys of an id to the newest event within the hour around `at` (ms). */
  seek(id: EventId, at: number): Promise<Sought>
}>

/**
 * The repeat rule on top of the server's memory of message ids. The server's hour runs by arrival, the rule's by receipt. So the holder that
 * the server names may be too old: then the next event with the id uses a key made of the holder's sequence, and so on.
 */
export function createIds(subjects: Subjects, publisher: Publisher, source: MessageSource): Ids {
  async function judge(id: EventId, at: number, holder: number): Promise<Found | string> {
    const events = await source.message(holder)
    // None: the holder was purged with its workspace, or cut off. One that just cannot be read now has thrown: it would be stored twice.
    const event = events.find((each) => each.id === id)
    if (event === undefined || Math.abs(at - event.receivedAt) >= repeatWindowMs) return nextKey(id, holder)
    return { position: event.position, header: headerOf(event) }
  }
  const probeSubject = subjects.ofSubject('id')
  return {
    firstKey: keyOf,
    judge,
    seek: async (id, at) => {
      let key = keyOf(id)
      let found: Found | undefined
      for (;;) {
        const holder = await publisher.lookUp(probeSubject, key)
        if (holder === undefined) return { found, freeKey: key }
        const judged = await judge(id, at, holder)
        if (typeof judged !== 'string') found = judged
        key = nextKey(id, holder)
      }
    },
  }
}
