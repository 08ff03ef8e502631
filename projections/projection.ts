import type { Position, RecordedEvent, TelemetryEventType } from '#src/events/envelope.ts'
import { dayBefore } from '#src/lib/day.ts'
import { int64Min } from '#src/lib/int64.ts'
import type { LogRecord, RefusedSpan, RumEvent, Span } from '#src/events/telemetry.ts'

export type DocumentId = string

/** A property of a document that takes no room. Null is what earlier versions wrote: their builds are read until the next is promoted. */
export type Absent = undefined | null

/**
 * How a field of a document can be searched.
 * - `keyword`: a string or strings, matched whole, case folded; can be counted by value (facets).
 * - `id`: as `keyword`, but never counted by value: nearly every document has another one.
 * - `number`: number or bigint (int64), by range; a collection can be ordered by it.
 * - `tokens`: a text of tokens as events/tokens.ts makes them, with single blanks between: words, phrases, prefixes, patterns, ranges.
 *   It is stored as it is, so it may hold nothing that is not a token of that file (no control character, no lone surrogate).
 */
type FieldKind = 'keyword' | 'id' | 'number' | 'tokens'
export type Fields = Readonly<Record<string, FieldKind>>

/** The searchable form of a document: a value for each field that it has. */
export type Searchable = Readonly<{
  /** The record's own time, nanoseconds since the Unix epoch; 0n where the collection has none. */
  timeNs: bigint
  fields: Readonly<Record<string, string | readonly string[] | number | bigint | undefined>>
}>

/** A condition on a number field: at least `from`, an integer; without `from`, that it has a value. */
export type NumberFrom = Readonly<{ field: string; from?: number }>

/** A kind of document within an index. Adapters make the mapping or the tables from it. */
export type Collection<Document extends object = object> = Readonly<{
  name: string
  /**
   * `document`: loaded by id, folded and written again. `record`: written once and not looked for first; its id begins with
   * `recordId`'s time, and a rewrite must say `replaces`.
   */
  kind: 'document' | 'record'
  /** How many days of receipt before the event's own a document is looked for; 0: each day has its own document. */
  lookbackDays: number
  /** The `tokens` field with the most tokens stands before the others: SQLite tells its postings in two bytes less. */
  fields: Fields
  /** The document of another collection that one of these belongs to: it is kept on that one's day, and starts anew when that one does. */
  belongsTo?(id: DocumentId): Readonly<{ collection: string; id: DocumentId }>
  /** Of records: the document that tells whether one that comes again replaces the earlier one; a new document knows of none. */
  repeatsWithin?(id: DocumentId): Readonly<{ collection: string; id: DocumentId }>
  /** Counts per minute of record time are kept by these keywords: wide histograms and facets without touching records. */
  countedBy?: readonly string[]
  /** For which documents counts are kept; all without it. They answer queries with exactly this condition, or with one value beside it. */
  countedWhere?: NumberFrom
  /**
   * Counts of all these values together are kept too: they answer queries with any conditions on these fields, and in shorter steps. For
   * fields with few values, in few combinations, within a minute.
   */
  countedTogether?: boolean
  searchable(document: Document): Searchable
}>

/** A document's place: which collection, which id. */
export type Key<Document extends object = object> = Readonly<{ collection: Collection<Document>; id: DocumentId }>

/** An event with its decoded payload, which is decoded at most once for all projections of a process. */
export interface DecodedEvent {
  readonly event: RecordedEvent
  spans(): readonly Span[]
  logs(): readonly LogRecord[]
  rumEvents(): readonly RumEvent[]
  refusedSpans(): readonly RefusedSpan[]
}

/** The documents of one event's workspace, as folded so far. */
export interface Documents {
  get<Document extends object>(key: Key<Document>): Document | undefined
  /**
   * Folds the event into one document. Not called for a document that has this event folded in already (the position guard);
   * a result that is the same object writes nothing. May be called several times within one event. A stored document comes
   * back as its JSON says: a bigint within 2^53 as a number, an `undefined` property not at all. The next state may depend on the event and
   * on this document; on other documents only if the result is the same once they contain the event, because documents are written one by
   * one.
   */
  update<Document extends object>(key: Key<Document>, fold: (document: Document | undefined) => Document): void
  /** Writes a record. `replaces`: an earlier record of this id, in this workspace, is removed. */
  put<Document extends object>(key: Key<Document>, document: Document, options?: Readonly<{ replaces: boolean }>): void
}

/**
 * A pure fold from the log into one index of several collections. No clock, no random, no I/O: same events, same index, on
 * every engine. Raise `version` whenever collections, ids or the fold change.
 *
 * The projector skips an identified event if it has folded one of the same id within 24 hours (folding/seen-events.ts).
 */
export interface Projection {
  readonly name: string
  readonly version: number
  readonly handles: readonly TelemetryEventType[]
  readonly collections: Readonly<Record<string, Collection<never>>>
  /** At least so many days of receipt are kept, whatever the workspace's plan. */
  readonly keptDaysMin?: number
  /**
   * The documents that folding this event reads or updates, as far as the loaded ones tell. It is called again after each load until it names
   * no new one. Records that are put need not be named.
   */
  needs(event: DecodedEvent, loaded: Pick<Documents, 'get'>): readonly Key<never>[]
  fold(event: DecodedEvent, documents: Documents): void
}

/** The collections of a projection, as stores treat all of them. */
export const collectionsOf = ({ collections }: Projection): readonly Collection[] => Object.values(collections)

/** A document as stored: with the position of the last event folded into it and the day (of receipt) it is kept under. */
export type Entry<Document extends object = object> = Readonly<{
  collection: string
  id: DocumentId
  /** UTC day of receipt, `2026-11-21`. */
  day: string
  document: Document
  position: Position
  /** Documents: position of the first event folded into it, so that a replay can tell what was there at its time. */
  created?: Position
  replaces?: boolean
}>

/**
 * Text whose order is that of the numbers: a letter before more than one digit says how many there are (`9`, `a10`, `a99`, `b100`).
 */
export function sortableOrdinal(ordinal: number): string {
  const digits = String(ordinal)
  return digits.length === 1 ? digits : String.fromCharCode('a'.charCodeAt(0) + digits.length - 2) + digits
}

/** The end of an event's id, which tells it from all others. */
export const identityOf = ({ event: { id } }: DecodedEvent): string => id.slice(id.lastIndexOf('.') + 1)

/**
 * Id of a record: its time (16 hex digits of nanoseconds, offset so that text order is time order), the event's identity, and the ordinal. So a
 * record is found by its time, and (time, id) is a total order in which records of one request and one time keep their order.
 */
export function recordId(timeNs: bigint, identity: string, ordinal: number): DocumentId {
  const time = BigInt.asUintN(64, timeNs - int64Min)
  return `${time.toString(16).padStart(16, '0')}-${identity}-${sortableOrdinal(ordinal)}`
}

/** The time that a record's id begins with; undefined if it is not of that form. */
export function timeOfRecordId(id: DocumentId): bigint | undefined {
  if (!/^[0-9a-f]{16}-/.test(id)) return undefined
  return BigInt.asIntN(64, BigInt(`0x${id.slice(0, 16)}`) + int64Min)
}

/** Days on which a document is looked for, the newest first. */
export const daysLookedAt = (day: string, lookbackDays: number): readonly string[] =>
  Array.from({ length: lookbackDays + 1 }, (_, index) => dayBefore(day, index))

/** The days on which an earlier record of an id is looked for: the look-back, and the day after, because clocks differ. */
export function daysReplaced(day: string, lookbackDays: number): readonly string[] {
  return Array.from({ length: lookbackDays + 2 }, (_, index) => dayBefore(day, index - 1))
}
