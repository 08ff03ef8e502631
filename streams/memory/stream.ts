import { randomUUID } from 'node:crypto'
import { checkHeader, crcHolds } from '#src/events/codec.ts'
import {
  beforeAll,
  positionStep,
  type EventId,
  type NewEvent,
  type Position,
  type RecordedEvent,
  type RecordedHeader,
} from '#src/events/envelope.ts'
import { isErasure } from '#src/events/erasure.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import {
  appendedOf,
  ConflictError,
  cutBefore,
  lostTail,
  readBytesMax,
  repeatWindowMs,
  withBeside,
  type Appended,
  type AppendedEvent,
  type Expected,
  type FirstEvent,
  type Stream,
} from '../stream.ts'
import { createWaiters } from '../waiters.ts'

type MemoryStreamOptions = Readonly<{ partition: string; epoch?: string }>

function checkEvents(events: readonly NewEvent[]): void {
  for (const event of events) {
    checkHeader(event)
    if (crcHolds(event)) continue
    throw new PermanentError({ operation: 'append event', subject: event.id, hint: 'its crc is not its payload’s' })
  }
}

function headerOf(event: RecordedEvent): RecordedHeader {
  const { payload: _, ...header } = event
  return header
}

/** Readers get a copy, so they cannot change the log. */
const copyOf = (event: RecordedEvent): RecordedEvent => ({ ...event, payload: new Uint8Array(event.payload) })

const sequenceOf = (position: Position): number => Math.floor(position / positionStep)

type Log = Readonly<{
  head(): Position
  append(events: readonly NewEvent[], expected: Expected | undefined): Appended
  within(id: EventId, at: number): RecordedEvent | undefined
  last(subject: string): RecordedEvent | undefined
  read(after: Position, max: number): readonly RecordedEvent[]
  first(): FirstEvent | undefined
  cut(upTo: Position): void
  erase(workspaceId: WorkspaceId, upTo: Position): void
  isLeft(workspaceId: WorkspaceId): boolean
}>

/** The events and their indexes. An erased event keeps its place. */
function createPlaces() {
  const log: (RecordedEvent | undefined)[] = []
  const byId = new Map<EventId, RecordedEvent[]>()
  const subjects = new Map<string, RecordedEvent>()
  /** How many events were cut. */
  let gone = 0
  const kept = (): RecordedEvent[] => log.filter((event) => event !== undefined)

  function forget(event: RecordedEvent): void {
    const others = (byId.get(event.id) ?? []).filter((other) => other !== event)
    if (others.length > 0) byId.set(event.id, others)
    else byId.delete(event.id)
    const { subject } = event
    if (subject === undefined || subjects.get(subject) !== event) return
    const before = kept().findLast((other) => other.subject === subject && other !== event)
    if (before === undefined) subjects.delete(subject)
    else subjects.set(subject, before)
  }
  return {
    log,
    kept,
    head: (): Position => (gone + log.length) * positionStep,
    gone: () => gone,
    within: (id: EventId, at: number): RecordedEvent | undefined =>
      byId.get(id)?.findLast((event) => Math.abs(at - event.receivedAt) < repeatWindowMs),
    last: (subject: string) => subjects.get(subject),
    add(event: RecordedEvent): void {
      log.push(event)
      byId.set(event.id, [...(byId.get(event.id) ?? []), event])
      if (event.subject !== undefined) subjects.set(event.subject, event)
    },
    cut(count: number): void {
      const cut = log.splice(0, count)
      gone += count
      for (const event of cut) if (event !== undefined) forget(event)
    },
    erase(isErased: (event: RecordedEvent) => boolean): void {
      for (const [index, event] of log.entries()) {
        if (event === undefined || !isErased(event)) continue
        log[index] = undefined
        forget(event)
      }
    },
  }
}

function createLog(partition: string): Log {
  const places = createPlaces()
  const { log, kept, head, gone, within, last } = places
  const isOf = (workspaceId: WorkspaceId, event: RecordedEvent): boolean =>
    event.workspaceId === workspaceId && !isErasure(event)

  function write(event: NewEvent, found: RecordedEvent | undefined): AppendedEvent {
    const first = found ?? within(event.id, event.receivedAt)
    if (first !== undefined) {
      const { position, ...repeated } = headerOf(first)
      return { position, repeated }
    }
    const recorded = { ...event, payload: new Uint8Array(event.payload), position: head() + positionStep }
    places.add(recorded)
    return { position: recorded.position }
  }

  return {
    head,
    within,
    last,
    append: (events, expected) => {
      checkEvents(events)
      const known = events.map(({ id, receivedAt }) => within(id, receivedAt))
      const found = withBeside(events, known)
      const retry = found.every((first) => first !== undefined)
      if (expected !== undefined && !retry && (last(expected.subject)?.position ?? beforeAll) !== expected.position) {
        throw new ConflictError(expected.subject, expected.position)
      }
      return appendedOf(events.map((event, index) => write(event, found[index])))
    },
    read: (after, max) => {
      if (sequenceOf(after) > sequenceOf(head())) throw lostTail(partition, after, head())
      if (after !== beforeAll && sequenceOf(after) < gone())
        throw cutBefore(partition, after, (gone() + 1) * positionStep)
      const events: RecordedEvent[] = []
      let bytes = 0
      // Positions are the steps 1, 2, 3 …: the event after step n is at index n minus the number of cut events.
      const start = Math.max(0, sequenceOf(after) - gone())
      for (let index = start; index < log.length && events.length < max; index++) {
        const event = log[index]
        if (event === undefined) continue
        bytes += event.payload.length
        if (bytes > readBytesMax && events.length > 0) break
        events.push(copyOf(event))
      }
      return events
    },
    first: () => {
      const [event] = kept()
      return event && { position: event.position, receivedAt: event.receivedAt, isCut: gone() > 0 }
    },
    cut: (upTo) => {
      const count = Math.min(sequenceOf(upTo) - gone(), log.length - 1)
      if (count > 0) places.cut(count)
    },
    erase: (workspaceId, upTo) => places.erase((event) => isOf(workspaceId, event) && event.position <= upTo),
    isLeft: (workspaceId) => kept().some((event) => isOf(workspaceId, event)),
  }
}

/** A log in memory, for tests and simulations. It keeps every event that is not cut, and never forgets their ids. */
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
    erase: async (workspaceId, upTo) => {
      checkOpen('erase from')
      log.erase(workspaceId, upTo)
    },
    isLeft: async (workspaceId) => {
      checkOpen('search')
      return log.isLeft(workspaceId)
    },
    close: async () => {
      closed = true
      waiters.close()
    },
  }
}
