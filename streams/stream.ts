import { PermanentError } from '#src/lib/failure.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import {
  beforeAll,
  besideId,
  type EventHeader,
  type EventId,
  type NewEvent,
  type Position,
  type RecordedEvent,
  type RecordedHeader,
} from '#src/events/envelope.ts'

/** The outcome for one appended event: its position; for a repeat, position and header of the event that already had its id. */
export type AppendedEvent = Readonly<{ position: Position; repeated?: EventHeader }>
export type Appended = Readonly<{ last: Position; duplicates: number; events: readonly AppendedEvent[] }>
/** The answer to a call, by what became of each of its events. */
export const appendedOf = (events: readonly AppendedEvent[]): Appended => ({
  last: events.reduce((last, { position }) => Math.max(last, position), beforeAll),
  duplicates: events.filter(({ repeated }) => repeated !== undefined).length,
  events,
})

/** The events of a call that the log has already: what belongs beside one of these (`besideId`) counts as it does. */
export function withBeside<Found>(
  events: readonly Readonly<{ id: EventId }>[],
  found: readonly (Found | undefined)[],
): readonly (Found | undefined)[] {
  if (events.length === 1) return found
  const beside = new Map(events.map(({ id }, index) => [besideId(id), found[index]]))
  return events.map(({ id }, index) => found[index] ?? beside.get(id))
}

/** What must be the last event of a subject for an append to be made; `beforeAll`: there must be none. */
export type Expected = Readonly<{ subject: string; position: Position }>

/** Another event of the subject was appended first: nothing of the call was written. Read again and decide again. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError'
  constructor(subject: string, expected: Position) {
    super(`subject ${subject} has moved on from position ${expected}`)
  }
}

/** A reader is beyond the end of the log: the log lost its tail or is another one. Reading on would skip events that are written next. */
export class LostTailError extends PermanentError {}

export function lostTail(partition: string, after: Position, head: Position): LostTailError {
  return new LostTailError({
    operation: `read after position ${after}`,
    subject: `of stream ${partition}`,
    hint: `it ends at ${head}: the log has lost its tail or is another one; restore it, or rebuild its readers`,
  })
}

/** The log has another event at a position than a reader has read there. */
export function otherHistory(partition: string, position: Position): LostTailError {
  return new LostTailError({
    operation: `read at position ${position}`,
    subject: `of stream ${partition}`,
    hint: 'another event stands there than its readers have had: an older state of the log was put back, and has grown since; restore it, or rebuild its readers',
  })
}

/** A reader has not read events that were cut off since. */
export function cutBefore(partition: string, after: Position, first: Position): PermanentError {
  return new PermanentError({
    operation: `read after position ${after}`,
    subject: `of stream ${partition}`,
    hint: `it begins at ${first} by now: events that this reader has not had were cut; rebuild it from the beginning`,
  })
}

/** The first event that a log still holds; `receivedAt` in ms. `isCut`: there were others before it. */
export type FirstEvent = Readonly<{ position: Position; receivedAt: number; isCut: boolean }>

/**
 * How far apart, by `receivedAt`, two events of one id may be for the second to be a repeat of the first; at this distance,
 * in either direction, it is a new event. In ms.
 */
export const repeatWindowMs = 3_600_000

/** About how many bytes of payload one read answers. */
export const readBytesMax = 8 * 1024 * 1024

/**
 * The log of one partition: append-only, totally ordered, durable. Every adapter passes test/contracts/stream.ts.
 * Operating failures are TransientError (the outcome of an append may be unknown: the retry carries the same id) or
 * PermanentError; no driver's error leaves an adapter.
 */
export interface Stream {
  /** `0`, `1`, …: the partition's name, as acks show it. */
  readonly partition: string
  /** Random at creation: a recreated or moved log has another, and positions do not compare across it. */
  readonly epoch: string
  /**
   * Resolves only when every event is durable, all of the call in one step. An id that the log has taken within the last
   * hour (by `receivedAt` of the two) is not written again and is answered with the first event's header and position; so is
   * what belongs beside it (`besideId`) in the same call: it says what became of a request that had another outcome before. An
   * adapter need not compare ids of events that are not `identified`: no sender has such an id to send it again.
   * Positions grow in order of append. With `expected`, writes only if the last event of that subject, which need not be
   * the subject of any event of the call, stands at that position (`beforeAll`: there is none), else rejects with
   * ConflictError; a call whose ids the log has all taken is a retry and is answered as such, whatever is expected.
   * An event that could not be read back (checksum, header) rejects with PermanentError. Payloads must not be changed until
   * the answer. An empty call answers `beforeAll`.
   */
  append(events: readonly NewEvent[], expected?: Expected): Promise<Appended>
  /** The events that hold these ids within the last hour before `now` (ms); the newest, should there be two. */
  find(ids: readonly EventId[], now: number): Promise<ReadonlyMap<EventId, RecordedHeader>>
  /**
   * The newest event of a subject: among all events that were acknowledged before this call, by any process, and possibly later ones.
   * Rejects with PermanentError when it is damaged.
   */
  last(subject: string): Promise<RecordedEvent | undefined>
  /**
   * Events after `after`, in order, at most `max` (and at most about 8 MiB of payload, but at least one); an empty answer
   * means caught up. Erased events are skipped. In a log that was cut, `beforeAll` stands for the place before the first event that it
   * still holds. Rejects with PermanentError:
   * - on a failed checksum, or an unexplained hole, once everything before it has been read;
   * - when `after` lies beyond the head: the log has lost its tail;
   * - when an event that was cut would come next, unless `after` is `beforeAll`.
   */
  read(after: Position, max: number): Promise<readonly RecordedEvent[]>
  /**
   * Resolves when there may be an event after `after`, or may be something to hear of from a read, or when the signal aborts; never
   * rejects.
   */
  changed(after: Position, signal: AbortSignal): Promise<void>
  /** Position of the last event; `beforeAll` when there is none. */
  head(): Promise<Position>
  /** The first event that the log still holds; undefined when it holds none. */
  first(): Promise<FirstEvent | undefined>
  /**
   * Permanently cuts off the beginning: all events at or below `upTo` are gone for every reader at once, except the last event of
   * the log and those that share a message with an event that stays. Positions are not reused, and appends go on
   * meanwhile. If it is interrupted, calling it again does the rest.
   */
  cut(upTo: Position): Promise<void>
  /**
   * Permanently erases the events of a workspace at or below `upTo`: payloads, headers and ids, but not the `workspace.erased`
   * events, one of which must be at `upTo` or later. All other events keep their positions, and appends go on meanwhile. Events whose
   * subject does not have the workspace as its second word may stay: they hold nothing that a sender sent. If it is interrupted, or
   * rejects, calling it again does the rest.
   */
  erase(workspaceId: WorkspaceId, upTo: Position): Promise<void>
  /**
   * Whether the log holds any event of a workspace besides `workspace.erased`: because the erasing was interrupted, or because a process
   * that did not know of it has appended since. For a workspace that was never erased, the answer may be true without a look.
   */
  isLeft(workspaceId: WorkspaceId): Promise<boolean>
  /** Settles the appends under way and resolves all waiting `changed` calls. Later calls reject with TransientError. */
  close(): Promise<void>
}
