import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName, MissedDay } from './index-store.ts'
import type { DocumentId, Entry } from './projection.ts'

/** What a build holds of a workspace under one day of receipt: read, compared and dropped together. */
export type Part = Readonly<{ workspaceId: WorkspaceId; day: string }>

/**
 * What a part holds of one collection: how many entries, and two digests that do not depend on the order in which they were
 * written. Two builds of an engine have equal digests exactly when they hold the same: `content` is over all that is stored
 * of the entries (id, time, positions, searchable fields, document), `search` over what searches go by beside them
 * (postings, counts per minute); '' where the engine keeps nothing of the kind that it could disagree with.
 */
export type Digest = Readonly<{ collection: string; entries: number; content: string; search: string }>

/** One entry, by a hash over all that is stored of it; and its position. */
export type Fingerprint = Readonly<{ id: DocumentId; hash: string; position: Position }>

/** One thing that searches go by beside the entries, and what it says: a term and a hash of its places, a minute and its count. */
export type SearchItem = Readonly<{ name: string; value: string }>

/** A part as it stood at one moment: writers go on beside it, until it is released. */
export interface FrozenPart {
  /** The part holds the fold of all events up to here, and of none after if it is `exact`. 0, or where the build stands, for a part that is not there. */
  readonly position: Position
  /**
   * False where the engine cannot tell one write from the next. Then entries that later events were folded into are as they were
   * after the last of these, at their own positions; and records that later events replaced may be gone.
   */
  readonly exact: boolean
  digests(): Promise<readonly Digest[]>
  /** In order of their ids (code points). */
  entries(collection: string): AsyncIterable<Entry>
  entry(collection: string, id: DocumentId): Promise<Entry | undefined>
  /** In order of their ids (code points). */
  fingerprints(collection: string): AsyncIterable<Fingerprint>
  fingerprint(collection: string, id: DocumentId): Promise<Fingerprint | undefined>
  /** In order of their names (code points). */
  searchItems(collection: string): AsyncIterable<SearchItem>
  /** The entries that a search item leads to, by id, and where in each. In order of their ids; empty for a count. */
  entriesOf(collection: string, name: string): AsyncIterable<SearchItem>
  /** All that is stored of an entry, to be shown: column or field by name. */
  stored(collection: string, id: DocumentId): Promise<Readonly<Record<string, string>> | undefined>
  release(): Promise<void>
}

/** Reads builds whole, whichever of them readers use: what `verify` goes by. Contract: test/contracts/index-audit.ts. */
export interface IndexAudit {
  /** The parts that a build holds, in no order. */
  parts(index: IndexName): Promise<readonly Part[]>
  /** Those of which what it held is gone; of an engine that can miss them. */
  lost?(index: IndexName): Promise<readonly MissedDay[]>
  /**
   * From now on, until it is released, the parts of this build are frozen as they stood at one moment, where the engine freezes a build
   * as a whole; elsewhere each as it stands when it is frozen.
   */
  hold(index: IndexName): Promise<Readonly<{ release(): Promise<void> }>>
  /** One part at a time may be frozen. */
  freeze(index: IndexName, part: Part): Promise<FrozenPart>
  /** Copies a workspace's parts as they stand, positions and all, into a build that holds none of them yet. */
  copy(from: IndexName, to: IndexName, workspaceId: WorkspaceId): Promise<void>
  close(): Promise<void>
}
