import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { DocumentId, Entry, Projection } from './projection.ts'

/** A build of a projection's index: `logs-v1-001`. */
export type IndexName = string

export type EntryKey = Readonly<{ workspaceId: WorkspaceId; collection: string; id: DocumentId; day: string }>
export type WorkspaceEntries = Readonly<{ workspaceId: WorkspaceId; entries: readonly Entry[] }>

/** How far an index has followed its log. */
export type Checkpoint = Readonly<{ epoch: string; position: Position }>

/**
 * How far a build is folded beyond the place where it stands, for workspaces that send little while others have sent much: all of a
 * workspace up to `position`; of those that wait, in their order in the log, only up to where they are `behind`. `caughtUpAt`: until when
 * (ms) the others have all that had come. Nothing of it is kept by a process that ends: what was folded is met again, and found done.
 */
export type Ahead = Readonly<{
  position: Position
  caughtUpAt: number
  behind: ReadonlyMap<WorkspaceId, Position>
}>

/** Where a build stands, and what it has beyond that. */
export type Reached = Readonly<{ position: Position; ahead?: Ahead | undefined }>

/** The position up to which a build holds all events of a workspace. */
export const reachedFor = ({ position, ahead }: Reached, workspaceId: WorkspaceId): Position =>
  ahead === undefined ? position : Math.max(position, ahead.behind.get(workspaceId) ?? ahead.position)

/**
 * What the projector last saw: how far the index is (its last searchable event), the log's head then, when that was, and until
 * when the index has all that had come (both ms).
 */
export type Heartbeat = Readonly<{
  position: Position
  head: Position
  at: number
  caughtUpAt: number
  /** What can be found beyond the position, of some workspaces (ahead.ts). */
  ahead?: Ahead
  last?: LastFolded
}>

/** The furthest event that was folded, and what tells it from any other (log-tail.ts): a log that holds another there is another history. */
export type LastFolded = Readonly<{ position: Position; event: string }>

/** A workspace's day of which what a build held is gone, as where its file was removed. */
export type LostDay = Readonly<{ workspaceId: WorkspaceId; day: string }>
/** The same; of whichever workspaces, where none is named: engines may keep a day of all together. */
export type MissedDay = Readonly<{ workspaceId?: WorkspaceId; day: string }>

/** `isOfAnotherVersion`: than the program that reads (own-versions.ts). `lostDays`: of all workspaces, where nobody asks for one. */
type ReadProgress = Heartbeat & Readonly<{ isOfAnotherVersion?: boolean; lostDays?: readonly MissedDay[] }>

/** Projectors write a heartbeat each second, even idle: a build whose last is older than this (ms) is folded by nobody. */
const heartbeatMaxMs = 5_000

export const isFolded = ({ at }: Pick<Heartbeat, 'at'>, nowMs: number): boolean => nowMs - at <= heartbeatMaxMs

/**
 * Whether the index has all of the log. One that nobody folds may not: the heartbeat of a projector that stopped stands still. Nor may
 * one that was folded by a program of another version, for who reads it, nor one that has lost a day.
 */
export const isCaughtUp = (progress: ReadProgress, nowMs: number): boolean =>
  progress.position >= progress.head &&
  isFolded(progress, nowMs) &&
  progress.isOfAnotherVersion !== true &&
  (progress.lostDays ?? []).length === 0

/** How old the last is that the index has, ms; 0 while it has all. */
export const lagMs = (progress: ReadProgress, nowMs: number): number =>
  isCaughtUp(progress, nowMs) ? 0 : Math.max(0, nowMs - progress.caughtUpAt)

/**
 * A build beside the live one. `building`: a rebuild folds it, nobody else (`workspaceId`: all others were copied).
 * `candidate`: the projector folds it, and readers move to it when it stands where the live one does. `kept`: readers used it;
 * it is folded on, so that they can go back, until then (ms; without: until somebody says otherwise). `dropped`: it goes as soon as
 * who folds it has let go. `gone`: it is no more, nor is any that was made before it and is not named beside it: no name comes a second time,
 * so that who is late means what it says (roster.ts). `heldSinceMs`: since when the log is not cut because the build, which nobody folds, has not had its beginning.
 * `keeps`: a build that is kept without a limit once readers have left it, with whichever build they then use.
 * `lost`: it has seen what its log has lost. It is not folded on, nor gone back to, also once the log has grown beyond that again.
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
 * The days of receipt that are kept. `of`: the first of a workspace. `all`: a day that is none later than any of these, for engines
 * that keep a day of all workspaces together.
 */
export type KeptDays = Readonly<{ of(workspaceId: WorkspaceId): string; all: string }>

/** The position up to which a build has all of a workspace: what is durable, or what a running projector says. */
export const reachedBy = (build: StoredBuild, workspaceId: WorkspaceId, nowMs: number): Position =>
  isFolded(build.heartbeat, nowMs)
    ? Math.max(build.checkpoint, reachedFor(build.heartbeat, workspaceId))
    : build.checkpoint

/**
 * How far a build has seen its log: also what of it is folded ahead of its position, or was only heard of. A log that ends before that
 * has lost what it had acknowledged, and would give its places to other events, which the build took for those.
 */
export const seenBy = ({ checkpoint, heartbeat: { position, head, ahead } }: StoredBuild): Position =>
  Math.max(checkpoint, position, head, ahead?.position ?? 0)

/** The writing side: one projector owns an index of one partition at a time. Contract: test/contracts/index-store.ts. */
export interface IndexWriter {
  /**
   * Makes the index if it is not there; what came up to `after` is then not in it. `epoch` is the log's: an index of another
   * epoch is refused (PermanentError).
   */
  open(index: IndexName, projection: Projection, epoch: string, after?: Position): Promise<void>
  /** The entries of each key on its day and the collection's `lookbackDays` before it, newest day first. */
  load(index: IndexName, keys: readonly EntryKey[]): Promise<readonly (readonly Entry[])[]>
  /**
   * Resolves when a crash of the process cannot lose the entries. Readers find them at once, or a moment later: progress never
   * names a position that they cannot find. Entries at or below what the index holds already are left out, so a batch may be
   * written again, in other cuts, by two projectors at once. `isAhead`: of the workspaces of these entries all events up to the
   * position are folded with them, of others not: the checkpoint stays where it is.
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
   * Written with every batch and each second, even idle: what readers know of completeness. Where entries are written that
   * readers do not find yet, they are told the last position that they do.
   */
  heartbeat(index: IndexName, progress: Heartbeat): Promise<void>
  /** Readers of the projection move to this build in one step. */
  promote(projection: string, index: IndexName): Promise<void>
  /** The build that readers use; undefined before the first promotion. */
  live(projection: string): Promise<IndexName | undefined>
  roster(projection: string): Promise<Roster>
  /**
   * Writes the roster in one durable step, readers moving with it, unless another was written since the one whose revision
   * it has: false then. Of two that change it at once one does.
   */
  changeRoster(projection: string, roster: Roster): Promise<boolean>
  /** The builds of the projection that are stored, of every version, in order of their names. */
  builds(projection: string): Promise<readonly StoredBuild[]>
  /**
   * Removes what the build holds of a workspace from events at or below `position`, its erasure; what was written from later ones
   * stays. Resolves when it is durable; readers then find nothing of it, and meet no error meanwhile. Of two who do it, or when it
   * was broken off, again changes nothing. Other builds of the projection that have not come to it may lose it with this one.
   */
  eraseWorkspace(index: IndexName, workspaceId: WorkspaceId, position: Position): Promise<void>
  /**
   * Removes the days of a build that are not kept, each whole: readers find all of a day or nothing of it, and meet no error
   * meanwhile. How many went. It need not be open. When it was broken off, calling it again does the rest.
   */
  dropDays(index: IndexName, kept: KeptDays): Promise<number>
  /** Removes a build and all that it holds, whole or not at all; one that is not there is no failure. */
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
  /** One token that begins with `prefix` and matches the linear regular expression whole; at most 1,000 expand. */
  | Readonly<{ kind: 'pattern'; fields: readonly string[]; prefix: string; regex: string }>
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
  /** Only what is kept under this day of receipt or a later one: what is before it may be there still, or be gone. */
  fromDay?: string
}>

/** Place in an order: the value ordered by (`timeNs` or a number field) and the id that settles ties. */
export type SortKey = Readonly<{ value: bigint; id: DocumentId }>

export type Selection = Readonly<{
  filter: Filter
  /** Record time, nanoseconds: from inclusive, to exclusive. */
  fromNs?: bigint
  toNs?: bigint
  /** Only entries last written at or below this position: a snapshot of records. */
  upTo?: Position
  /** Only entries last written above this position: what is new since. */
  since?: Position
}>

export type IndexQuery = Selection &
  Readonly<{
    /** `timeNs`, `position` (order of arrival) or a number field. Ties go by id, in the same direction. */
    orderBy: string
    direction: 'asc' | 'desc'
    after?: SortKey
    limit: number
    /** Ends before the limit where the documents come to more characters of JSON, after one at least; the last hit says so. */
    charactersMax?: number
  }>

/** A search that no size of documents ends. */
export type PlacesQuery = Omit<IndexQuery, 'charactersMax'>

export type Hit<Document extends object = object> = Readonly<{
  id: DocumentId
  timeNs: bigint
  position: Position
  sort: SortKey
  document: Document
  /** The search ended here for its `charactersMax`: there is more. */
  endsForSize?: true
}>

/** How far the live index had followed the log when it was asked, and where its fold began; undefined before the first promotion. */
export type Progress = ReadProgress & Readonly<{ index: IndexName; after: Position }>

/** Time buckets: `startNs` is a multiple of the step, which is whole milliseconds; `by` counts per value of the keyword asked for. */
export type Bucket = Readonly<{ startNs: bigint; total: number; by: Readonly<Record<string, number>> }>
export type Facet = Readonly<{ field: string; values: readonly Readonly<{ value: string; count: number }>[] }>

/**
 * The reading side. The workspace is part of every scope; there is no way to ask across workspaces. Readers resolve the
 * live build by the projection's name; before the first promotion nothing is found. Rejects with TooBroadError where a pattern meets
 * too many words, with TransientError or PermanentError where the engine fails. Contract: test/contracts/index-store.ts.
 */
export interface IndexReader {
  /** Of what is asked at once each answer is as new as the one before it: nobody need wait for one to ask the next. */
  readonly answersInOrder?: boolean
  progress(projection: string): Promise<Progress | undefined>
  /** By id, in the order asked, each once, on whatever day; the newest where several days hold one. Missing ids are left out. */
  get<Document extends object>(scope: Scope, ids: readonly DocumentId[]): Promise<readonly Hit<Document>[]>
  /**
   * The first `limit` hits behind `after`, in the order asked. A document without a value to be ordered by is left out. An id that
   * several days hold is given for each of them, once where they stand at one place: as it was written last.
   */
  search<Document extends object>(scope: Scope, query: IndexQuery): Promise<readonly Hit<Document>[]>
  /** Where the hits of a search stand, without their documents: where only ids are wanted, thousands of them cost little. */
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
