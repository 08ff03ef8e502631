import { randomUUID } from 'node:crypto'
import { checkHeader, crcHolds } from '#src/events/codec.ts'
import {
  beforeAll,
  positionStep,
  type EventHeader,
  type EventId,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '#src/events/envelope.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import {
  ConflictError,
  cutBefore,
  lostTail,
  readBytesMax,
  repeatWindowMs,
  type Appended,
  type AppendedEvent,
  type FirstEvent,
  type Stream,
} from '../stream.ts'
import { createWaiters } from '../waiters.ts'

export type MemoryStreamOptions = Readonly<{ partition: string; epoch?: string }>

function checkEvents(events: readonly NewEvent[]): void {
  for (const event of events) {
    checkHeader(event)
    if (crcHolds(event)) continue
    throw new PermanentError({ operation: 'append event', subject: event.id, hint: 'its crc is not its payload’s' })
  }
}

function headerOf(event: RecordedEvent): EventHeader & Readonly<{ position: Position }> {
  const { payload: _, ...header } = event
  return header
}

/** What a reader gets is its own: it cannot change the log. */
const copyOf = (event: RecordedEvent): RecordedEvent => ({ ...event, payload: new Uint8Array(event.payload) })

const sequenceOf = (position: Position): number => Math.floor(position / positionStep)

type Log = Readonly<{
  head(): Position
  append(events: readonly NewEvent[], expected: Parameters<Stream['append']>[1]): Appended
  within(id: EventId, at: number): RecordedEvent | undefined
  last(subject: string): RecordedEvent | undefined
  read(after: Position, max: number): readonly RecordedEvent[]
  first(): FirstEvent | undefined
  cut(upTo: Position): void
}>

function createLog(partition: string): Log {
  const log: RecordedEvent[] = []
  const byId = new Map<EventId, RecordedEvent[]>()
  const subjects = new Map<string, RecordedEvent>()
  /** How many events were cut. */
  let gone = 0

  const head = (): Position => log.at(-1)?.position ?? beforeAll
  const within = (id: EventId, at: number): RecordedEvent | undefined =>
    byId.get(id)?.findLast((event) => Math.abs(at - event.receivedAt) < repeatWindowMs)

  function write(event: NewEvent): AppendedEvent {
    const first = within(event.id, event.receivedAt)
    if (first !== undefined) {
      const { position, ...repeated } = headerOf(first)
      return { position, repeated }
    }
    const recorded = { ...event, payload: new Uint8Array(event.payload), position: head() + positionStep }
    log.push(recorded)
    byId.set(event.id, [...(byId.get(event.id) ?? []), recorded])
    if (event.subject !== undefined) subjects.set(event.subject, recorded)
    return { position: recorded.position }
  }

  function forget(event: RecordedEvent): void {
    const others = (byId.get(event.id) ?? []).filter((other) => other !== event)
    if (others.length > 0) byId.set(event.id, others)
    else byId.delete(event.id)
    if (event.subject !== undefined && subjects.get(event.subject) === event) subjects.delete(event.subject)
  }

  return {
    head,
    within,
    last: (subject) => subjects.get(subject),
    append: (events, expected) => {
      checkEvents(events)
      const retry = events.every((event) => within(event.id, event.receivedAt) !== undefined)
      if (
        expected !== undefined &&
        !retry &&
        (subjects.get(expected.subject)?.position ?? beforeAll) !== expected.position
      ) {
        throw new ConflictError(expected.subject, expected.position)
      }
      const written = events.map(write)
      return {
        last: written.reduce((last, { position }) => Math.max(last, position), beforeAll),
        duplicates: written.filter(({ repeated }) => repeated !== undefined).length,
        events: written,
      }
    },
    read: (after, max) => {
      if (sequenceOf(after) > sequenceOf(head())) throw lostTail(partition, after, head())
      if (after !== beforeAll && sequenceOf(after) < gone) throw cutBefore(partition, after, (gone + 1) * positionStep)
      const events: RecordedEvent[] = []
      let bytes = 0
      // Positions are the steps 1, 2, 3 …: the event after step n stands at index n, less those that were cut.
      const start = Math.max(0, sequenceOf(after) - gone)
      for (const event of log.slice(start, start + max)) {
        bytes += event.payload.length
        if (bytes > readBytesMax && events.length > 0) break
        events.push(copyOf(event))
      }
      return events
    },
    first: () => log[0] && { position: log[0].position, receivedAt: log[0].receivedAt, isCut: gone > 0 },
    cut: (upTo) => {
      const count = Math.min(sequenceOf(upTo) - gone, log.length - 1)
      if (count <= 0) return
      log.splice(0, count).forEach(forget)
      gone += count
    },
  }
}

/** A log that lives and dies with its process: for tests and simulations. It keeps what is not cut, and forgets no id of it. */
export function createMemoryStream({ partition, epoch = randomUUID() }: MemoryStreamOptions): Stream {
  const log = createLog(partition)
  const waiters = createWaiters(log.head)
  let closed = false
  const checkOpen = (operation: string): void => {
    if (closed) throw new TransientError({ operation, subject: `stream ${partition}`, hint: 'it is closed' })
  }
  return {
    partition,
    epoch,
    append: async (events, expected) => {
      checkOpen('append to')
      const appended = log.append(events, expected)
      waiters.wake(log.head())
      return appended
    },
    find: async (ids, now) => {
      checkOpen('search')
      const found = ids.map((id) => log.within(id, now)).filter((event) => event !== undefined)
      return new Map(found.map((event) => [event.id, headerOf(event)]))
    },
    last: async (subject) => {
      checkOpen('search')
      const event = log.last(subject)
      return event === undefined ? undefined : copyOf(event)
    },
    read: async (after, max) => {
      checkOpen('read')
      return log.read(after, max)
    },
    changed: waiters.wait,
    head: async () => {
      checkOpen('ask the head of')
      return log.head()
    },
    first: async () => {
      checkOpen('ask the first event of')
      return log.first()
    },
    cut: async (upTo) => {
      checkOpen('cut')
      log.cut(upTo)
    },
    close: async () => {
      closed = true
      waiters.close()
    },
  }
}
