import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName, MissedDay } from './index-store.ts'
import type { DocumentId, Entry } from './projection.ts'

/** One day of receipt of one workspace in a build: read, compared and dropped as a whole. */
export type Part = Readonly<{ workspaceId: WorkspaceId; day: string }>

/**
 * What a part holds of one collection: the number of entries, and two digests that do not depend on the order of writing. Two builds of an
 * engine have equal digests exactly if they hold the same. `content` covers all that is stored of the entries (id, time, positions, searchable
 * fields, document); `search` covers what searches use beside them (postings, counts per minute), '' if the engine derives that from the
 * entries itself.
 */
export type Digest = Readonly<{ collection: string; entries: number; content: string; search: string }>

/** An entry, by a hash over all that is stored of it, and its position. */
export type Fingerprint = Readonly<{ id: DocumentId; hash: string; position: Position }>

/** Something that searches use beside the entries: a term and a hash of its places, or a minute and its count. */
export type SearchItem = Readonly<{ name: string; value: string }>

/** A snapshot of a part, until it is released. Writers go on meanwhile. */
export interface FrozenPart {
  /** The part holds the fold of all events up to here, and of none after if it is `exact`. For a missing part: 0, or the build's position. */
  readonly position: Position
  /**
   * False if the engine has no snapshot between two batches. Then some entries may already contain later events, each up to its own position,
   * and records that later events replaced may be gone.
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
  /** The entries that a search item leads to, by id, and its places in each. In order of their ids; empty for a count. */
  entriesOf(collection: string, name: string): AsyncIterable<SearchItem>
  /** The search items that count an entry, and how much it adds to each; empty for a missing entry, and for one that is not counted. */
  countsOf(collection: string, id: DocumentId): Promise<readonly SearchItem[]>
  /** All that is stored of an entry, for display: columns or fields by name. */
  stored(collection: string, id: DocumentId): Promise<Readonly<Record<string, string>> | undefined>
  release(): Promise<void>
}

/** Reads whole builds, live or not, for `verify`. Contract: test/contracts/index-audit.ts. */
export interface IndexAudit {
  /** The parts that a build holds, in no order. */
  parts(index: IndexName): Promise<readonly Part[]>
  /** The days that the build has lost; of engines that can tell. */
  lost?(index: IndexName): Promise<readonly MissedDay[]>
  /**
   * Until it is released, all parts of this build are frozen as of one moment, if the engine freezes a build as a whole; otherwise each as of
   * when it is frozen.
   */
  hold(index: IndexName): Promise<Readonly<{ release(): Promise<void> }>>
  /** One part at a time may be frozen. */
  freeze(index: IndexName, part: Part): Promise<FrozenPart>
  /** Copies a workspace's parts as they are, with positions, into a build that holds none of them yet. */
  copy(from: IndexName, to: IndexName, workspaceId: WorkspaceId): Promise<void>
  close(): Promise<void>
}
