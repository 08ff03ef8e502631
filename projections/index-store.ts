import { PermanentError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { DocumentId, Entry, Projection } from './projection.ts'

/** A build of a projection's index: `logs-v1-001`. */
export type IndexName = string

/** Whether this is the name of a build of the projection, of whatever version (rosters/build-name.ts). */
export const isBuildOf = (projection: string, index: IndexName): boolean =>
  index.startsWith(`${projection}-v`) && /^v\d+-\d{3,}$/.test(index.slice(projection.length + 1))

export type EntryKey = Readonly<{ workspaceId: WorkspaceId; collection: string; id: DocumentId; day: string }>
export type WorkspaceEntries = Readonly<{ workspaceId: WorkspaceId; entries: readonly Entry[] }>

/** How far an index has followed its log. */
export type Checkpoint = Readonly<{ epoch: string; position: Position }>

/**
 * How far a build is folded ahead of its position, during a backlog, for workspaces that have sent little: all events of a workspace up
 * to `position`; of the workspaces in `behind`, only those up to the position given there. `caughtUpAt`: the time (ms) up to which the
 * workspaces that are ahead have everything that was received. It is not persisted: after a restart these events are read again, and the
 * position guard finds them done.
 */
export type Ahead = Readonly<{
  position: Position
  caughtUpAt: number
  behind: ReadonlyMap<WorkspaceId, Position>
}>

/** How far a build is, and what it has folded ahead of that. */
export type Reached = Readonly<{ position: Position; ahead?: Ahead | undefined }>

/** The position up to which a build holds all events of a workspace. */
export const reachedFor = ({ position, ahead }: Reached, workspaceId: WorkspaceId): Position =>
  ahead === undefined ? position : Math.max(position, ahead.behind.get(workspaceId) ?? ahead.position)

/**
 * What the projector last reported: `position`, the last searchable event; `head`, the head of the log at that time; `at`, that time;
 * `caughtUpAt`, the time up to which the index has everything that was received (both ms).
 */
export type Heartbeat = Readonly<{
  position: Position
  head: Position
  at: number
  caughtUpAt: number
  /** What is searchable beyond the position, for some workspaces (folding/ahead.ts). */
  ahead?: Ahead
  last?: LastFolded
  /** Workspaces of which the build leaves out events on which nobody has decided (folding/lacking.ts). */
  lacking?: readonly WorkspaceId[]
}>

/** The furthest event that was folded, and what tells it from any other (folding/log-tail.ts): a log that holds another there is another one. */
export type LastFolded = Readonly<{ position: Position; event: string }>

/** A workspace's day of which what a build held is gone, as where its file was removed. */
export type LostDay = Readonly<{ workspaceId: WorkspaceId; day: string }>
/**
 * The same; of whichever workspaces, where none is named: engines may keep a day of all together. `isClosed`: it is not gone, and is found
 * again once somebody opens it.
 */
export type MissedDay = Readonly<{ workspaceId?: WorkspaceId; day: string; isClosed?: true }>

/** `isOfAnotherVersion`: than the program that reads (builds/own-versions.ts). `lostDays`: of all workspaces, where nobody asks for one. */
type ReadProgress = Heartbeat & Readonly<{ isOfAnotherVersion?: boolean; lostDays?: readonly MissedDay[] }>

/** Projectors write a heartbeat each second, even when idle: when the last is older than this (ms), no projector folds the build. */
export const heartbeatMaxMs = 5_000

export const isFolded = ({ at }: Pick<Heartbeat, 'at'>, nowMs: number): boolean => nowMs - at <= heartbeatMaxMs

/**
 * Whether the index has all of the log. False without a live projector, since the heartbeat of a stopped one goes stale; also when a
 * program of another version folds the index, when it has lost a day, or leaves out an event that nobody has given up. A heartbeat from the
 * future tells nothing: one whose clock was hours ahead may have stopped since.
 */
export const isCaughtUp = (progress: ReadProgress, nowMs: number): boolean =>
  progress.position >= progress.head &&
  isFolded(progress, nowMs) &&
  progress.at - nowMs <= heartbeatMaxMs &&
  progress.isOfAnotherVersion !== true &&
  (progress.lostDays ?? []).length === 0 &&
  (progress.lacking ?? []).length === 0

/** How far the index lags behind the log, ms; 0 while it has everything. */
export const lagMs = (progress: ReadProgress, nowMs: number): number =>
  isCaughtUp(progress, nowMs) ? 0 : Math.max(0, nowMs - progress.caughtUpAt)

/**
 * A build beside the live one.
 * - `building`: only a rebuild folds it (`workspaceId`: the entries of all other workspaces were copied).
 * - `candidate`: the projector folds it; readers move to it when it has reached the position of the live one.
 * - `kept`: readers used it before; the projector keeps folding it until `untilMs` (without: indefinitely), so that they can go back.
 * - `dropped`: it is removed as soon as the process that folds it has released it.
 * - `gone`: it is removed, and so are all earlier builds that the roster does not name. Names are not reused, so a process that is late
 *   never confuses two builds (roster.ts).
 *
 * `heldSinceMs`: since when the log has not been cut because this build, which nobody folds, has not read its beginning.
 * `keeps`: a build that is to be kept indefinitely once readers have left it, for whichever build.
 * `lost`: it had read events that its log has since lost. It is never folded or used again, even if the log grows beyond that point.
 */
export type FollowedBuild = Readonly<{
  index: IndexName
  as: 'building' | 'candidate' | 'kept' | 'dropped' | 'gone'
  untilMs?: number
  workspaceId?: WorkspaceId
  heldSinceMs?: number
  keeps?: IndexName
  lost?: true
}>

/** Which builds of a projection are folded, and which of them readers use. `revision` grows with each change, from 0. */
export type Roster = Readonly<{ revision: number; live: IndexName | undefined; followed: readonly FollowedBuild[] }>
/** The roster before its first change. */
export const noRoster: Roster = { revision: 0, live: undefined, followed: [] }

/** A build as it is stored: `after` is where its fold began, `checkpoint` how far it is durable. */
export type StoredBuild = Readonly<{
  index: IndexName
  epoch: string
  after: Position
  checkpoint: Position
  heartbeat: Heartbeat
  /** Where all workspaces of a day are kept together: the days that the build has lost. */
  lostDays?: readonly MissedDay[]
}>

/**
 * The days of receipt that are kept. `of`: the first day of a workspace. `all`: a day not later than any of these, for engines that
 * store all workspaces of a day together.
 */
export type KeptDays = Readonly<{ of(workspaceId: WorkspaceId): string; all: string }>

/** The position up to which a build has all events of a workspace: its durable checkpoint, or what a running projector reports. */
export const reachedBy = (build: StoredBuild, workspaceId: WorkspaceId, nowMs: number): Position =>
  isFolded(build.heartbeat, nowMs)
    ? Math.max(build.checkpoint, reachedFor(build.heartbeat, workspaceId))
    : build.checkpoint

/** How far a build has been folded, by what it holds and by what was last said of it. */
export const foldedBy = ({ checkpoint, heartbeat }: StoredBuild): Position => Math.max(checkpoint, heartbeat.position)

/**
 * The furthest position of the log that a build knows of, folded ahead or only reported as the head. A log that ends before it has lost
 * acknowledged events and would reuse their positions; the build would take the new events for the lost ones.
 */
export const seenBy = ({ checkpoint, heartbeat: { position, head, ahead } }: StoredBuild): Position =>
  Math.max(checkpoint, position, head, ahead?.position ?? 0)

/**
 * The record of a build, or of a projection's builds, is gone or an older one: somebody has removed it, or put one back. What was read of it before
 * means nothing any more. Who folds begins again, from what is recorded now.
 */
export class LostRecordError extends PermanentError {}

/** The writing side: one projector owns an index of one partition at a time. Contract: test/contracts/index-store.ts. */
export interface IndexWriter {
  /**
   * Creates the index if it does not exist; it then starts after `after`, without the events up to there. `epoch` is the log's: an
   * index of another epoch, or one that was made with other collections, is refused (PermanentError).
   */
  open(index: IndexName, projection: Projection, epoch: string, after?: Position): Promise<void>
  /** The entries of each key on its day and the collection's `lookbackDays` before it, newest day first. */
  load(index: IndexName, keys: readonly EntryKey[]): Promise<readonly (readonly Entry[])[]>
  /**
   * Resolves when a crash of the process cannot lose the entries. Readers find them at once, or a moment later: progress never
   * names a position that they cannot find. Entries at or below what the index holds already are skipped, so a batch may be
   * written again, split differently, or by two projectors at once. `isAhead`: all events up to the position are folded for the workspaces
   * of these entries, but not for the others: the checkpoint does not move.
   */
  write(
    index: IndexName,
    entries: readonly WorkspaceEntries[],
    checkpoint: Checkpoint & Readonly<{ isAhead?: boolean }>,
  ): Promise<void>
  /**
   * Where to read the log from: every entry up to here is durable, also against a power cut. It may stand behind what was
   * written, never ahead. Position 0 and epoch '' for an index that is not there.
   */
  checkpoint(index: IndexName): Promise<Checkpoint>
  /**
   * Written with every batch and each second, even when idle; readers judge completeness by it. When written entries are not searchable
   * yet, the reported position is the last searchable one.
   */
  heartbeat(index: IndexName, progress: Heartbeat): Promise<void>
  /** The roster of a projection; an empty one of revision 0 before the first change. */
  roster(projection: string): Promise<Roster>
  /**
   * Compare-and-set: writes the roster in one durable step, which also moves readers. False, and nothing is written, when its revision
   * is not the current one.
   */
  changeRoster(projection: string, roster: Roster): Promise<boolean>
  /** The builds of the projection that are stored, of every version, in order of their names. */
  builds(projection: string): Promise<readonly StoredBuild[]>
  /**
   * Removes what the build holds of a workspace from events at or below `position`, its erasure; what was written from later ones
   * stays. Resolves when it is durable; readers then find nothing of it, and see no error meanwhile. It is idempotent: it may be
   * repeated after an interruption, or run twice at once. Other builds of the projection that have not reached the erasure may lose the
   * workspace too.
   */
  eraseWorkspace(index: IndexName, workspaceId: WorkspaceId, position: Position): Promise<void>
  /**
   * Removes the days of a build that are not kept, each as a whole: readers find all of a day or nothing of it, and see no error
   * meanwhile. Resolves to the number of days removed. The build need not be open. If it is interrupted, calling it again does the rest.
   */
  dropDays(index: IndexName, kept: KeptDays): Promise<number>
  /** Removes a build with all that it holds, whole or not at all; a missing build is not an error. */
  drop(index: IndexName): Promise<void>
  close(): Promise<void>
}

/** A build as it is stored; undefined where there is none of that name. */
export const storedBuild = async (
  writer: Pick<IndexWriter, 'builds'>,
  projection: string,
  index: IndexName | undefined,
): Promise<StoredBuild | undefined> => (await writer.builds(projection)).find((build) => build.index === index)

/**
 * A condition over the fields of a collection. Typed: no user text reaches an engine's own query language. `tokens` fields
 * hold tokens of events/tokens.ts; several fields mean "in any of them", each by itself.
 */
export type Filter =
  | Readonly<{ kind: 'all' }>
  | Readonly<{ kind: 'none' }>
  | Readonly<{ kind: 'and' | 'or'; of: readonly Filter[] }>
  | Readonly<{ kind: 'not'; of: Filter }>
  /** A `keyword` or `id` field with any of the values, whole, case folded. */
  | Readonly<{ kind: 'keyword'; field: string; values: readonly string[] }>
  /** A `keyword` or `id` field with a value that begins so, case folded; any value begins with ''. */
  | Readonly<{ kind: 'keywordPrefix'; field: string; prefix: string }>
  /** Bounds are inclusive. */
  | Readonly<{ kind: 'number'; field: string; from?: bigint | number; to?: bigint | number }>
  /** Adjacent tokens in one field; with `prefix` the last of them is the beginning of a token. */
  | Readonly<{ kind: 'phrase'; fields: readonly string[]; tokens: readonly string[]; prefix?: boolean }>
  /**
   * One token that begins with `prefix` and matches the linear regular expression whole. At most 1,000 expand in each day that holds a document
   * within the range of time: a shorter range helps, and a question that no single day refuses is not refused of all of them. `ofWords`: only a plain word, which
   * all tokens of these fields are but for what separates values, so nobody need look at tokens that name a field. `ofField`: only a word of a named
   * field.
   */
  | Readonly<{
      kind: 'pattern'
      fields: readonly string[]
      prefix: string
      regex: string
      ofWords?: true
      ofField?: true
    }>
  /** One token that begins with `prefix` and lies between the two in text order (inclusive where given). */
  | Readonly<{ kind: 'tokenRange'; fields: readonly string[]; prefix: string; from?: string; to?: string }>

/** A pattern or range meets more tokens than may be expanded: the caller answers 400 `query_too_broad`. */
export class TooBroadError extends Error {
  override readonly name = 'TooBroadError'
}

/** Which documents: always inside one workspace. */
export type Scope = Readonly<{
  workspaceId: WorkspaceId
  projection: string
  collection: string
  /** Only what was received on this day or later; earlier days may or may not be stored still. */
  fromDay?: string
}>

/** Place in an order: the value ordered by (`timeNs` or a number field) and the id that settles ties. */
export type SortKey = Readonly<{ value: bigint; id: DocumentId }>

export type Selection = Readonly<{
  filter: Filter
  /** Record time, nanoseconds: from inclusive, to exclusive. */
  fromNs?: bigint | undefined
  toNs?: bigint | undefined
  /** Only entries last written at or below this position: a snapshot of records. */
  upTo?: Position | undefined
  /** Only entries last written above this position: what is new since. */
  since?: Position | undefined
}>

export type IndexQuery = Selection &
  Readonly<{
    /** `timeNs`, `position` (order of arrival) or a number field. Ties go by id, in the same direction. */
    orderBy: string
    direction: 'asc' | 'desc'
    after?: SortKey | undefined
    limit: number
    /** Ends before the limit where the documents come to more characters of JSON, after one at least; the last hit says so. */
    charactersMax?: number | undefined
  }>

/** A search without a bound on the size of its documents. */
export type PlacesQuery = Omit<IndexQuery, 'charactersMax'>

export type Hit<Document extends object = object> = Readonly<{
  id: DocumentId
  /** The day that holds it. */
  day: string
  timeNs: bigint
  position: Position
  sort: SortKey
  document: Document
  /** The search ended here for its `charactersMax`: there is more. */
  endsForSize?: true
}>

/** How far the live index had followed the log when it was asked, and the position that its fold began after. */
export type Progress = ReadProgress & Readonly<{ index: IndexName; after: Position }>

/** Time buckets: `startNs` is a multiple of the step, which is whole milliseconds; `by` counts per value of the keyword asked for. */
export type Bucket = Readonly<{ startNs: bigint; total: number; by: Readonly<Record<string, number>> }>
export type Facet = Readonly<{ field: string; values: readonly Readonly<{ value: string; count: number }>[] }>

/**
 * The reading side. The workspace is part of every scope; there is no way to ask across workspaces. Readers resolve the
 * live build by the projection's name; before the first promotion nothing is found. Rejects with TooBroadError where a pattern expands
 * to too many terms, with TransientError or PermanentError where the engine fails. Contract: test/contracts/index-store.ts.
 */
export interface IndexReader {
  /**
   * True: questions asked at once are answered in their order, and all but `progress` as of one moment, so callers need not await them one by
   * one.
   */
  readonly answersInOrder?: boolean
  /** True: of what a batch changes in a workspace's documents of one day, readers find either all or nothing. */
  readonly showsWholeBatches?: boolean
  /** Undefined before the first promotion. */
  progress(projection: string): Promise<Progress | undefined>
  /** By id, in the order asked, each once, on whatever day; the newest where several days hold one. Missing ids are left out. */
  get<Document extends object>(scope: Scope, ids: readonly DocumentId[]): Promise<readonly Hit<Document>[]>
  /**
   * The first `limit` hits after `after`, in the order asked. Documents without a value for `orderBy` are left out. An id that several
   * days hold is returned once for each of them; where these have the same sort key, only the one written last.
   */
  search<Document extends object>(scope: Scope, query: IndexQuery): Promise<readonly Hit<Document>[]>
  /** The sort keys of a search's hits, without their documents: cheap when only ids are wanted. */
  places(scope: Scope, query: PlacesQuery): Promise<readonly SortKey[]>
  /** How many entries there are; an id that several days hold counts for each. */
  count(scope: Scope, selection: Selection): Promise<number>
  /**
   * The buckets that are not empty, the earliest first. `stepNs`: whole milliseconds. A record with several values of `by` counts once
   * in the total, and once for each value.
   */
  histogram(scope: Scope, selection: Selection, stepNs: bigint, by: string): Promise<readonly Bucket[]>
  /** For each field, in the order asked, its `valuesMax` most frequent values, the most frequent first, ties in text order. */
  facets(scope: Scope, selection: Selection, fields: readonly string[], valuesMax: number): Promise<readonly Facet[]>
  close(): Promise<void>
}
