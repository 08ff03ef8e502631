import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName, LostDay } from '../../../index-store.ts'
import { collectionsOf, type Collection, type Projection } from '../../../projection.ts'
import { shapeOf, type Shapes } from '../../row.ts'
import { daysIn } from '../build-folders.ts'
import { prepared, transaction, type Database } from '../database.ts'
import { looked } from '../folder-names.ts'
import { nameDays, nameDaysAnew, storedDays } from '../known-days.ts'
import { tablesOf, tablesWithSums, type Tables } from '../layout.ts'
import {
  openBuildRecord,
  readErased,
  readBuildRecord,
  readShare,
  writeNamed,
  writeSafe,
  writeShare,
} from '../build-record.ts'
import type { WrittenTables } from '../stored-rows.ts'
import { syncDatabases } from '../sync-files.ts'
import { createKnownIds, type KnownIds } from './known-ids.ts'
import { createMakeDay, type MakeDay } from './make-day.ts'
import type { Told } from './tell-again.ts'
import { createTidier, type Tidier, type Tidying } from './tidy-files.ts'

/**
 * What the files of a build hold. Those that are only read whole need no postings: `sums` has sums over them instead, `entries` nothing at all that
 * searches go by.
 */
export type Kept = 'all' | 'sums' | 'entries'

export type BuildOptions = Readonly<{
  folder: string
  /**
   * The name of this writer's share of the work, where several writers fold one build, each its own workspaces. Its checkpoint
   * is the share's; readers are told nothing.
   */
  share?: string
  keeps?: Kept
  /** What is tidied with a heartbeat, at most once a second. */
  tidying?: Tidying
}>

/** A build that a writer has open. */
export type Build = {
  readonly folder: string
  readonly index: IndexName
  readonly epoch: string
  readonly share: string | undefined
  /** Its files are for this process alone, so nothing of them is synced. */
  readonly isScratch: boolean
  readonly tables: readonly Tables[]
  readonly collections: ReadonlyMap<string, WrittenTables>
  readonly meta: Database
  readonly makeDay: MakeDay
  readonly ids: KnownIds
  /** The batch that was written last; everything up to `safe` is on the disk. */
  written: Position
  safe: Position
  syncedAt: number
  syncTookMs: number
  /** Files with commits that may not be on the disk yet, and those of them that are new. */
  readonly unsynced: Set<string>
  readonly created: Map<string, LostDay>
  /** Days that each workspace has files for. */
  readonly days: Map<WorkspaceId, Set<string>>
  readonly erased: Map<WorkspaceId, Position>
  /** The last batch that was written of each workspace, also ahead of `written`. */
  readonly reached: Map<WorkspaceId, Position>
  readonly tidier: Tidier
  told: Told | undefined
}

function filesWithWal(folder: string, index: IndexName): readonly string[] {
  return looked(join(folder, index), (path) => readdirSync(path, { recursive: true, encoding: 'utf8' }))
    .filter((name) => name.endsWith('.db-wal'))
    .map((name) => join(folder, index, name.slice(0, -'-wal'.length)))
}

/** The collection without its searchable fields. A record's time is in its id, but a document's comes from `searchable`. */
const withoutSearch = ({ name, kind, lookbackDays, searchable }: Collection): Collection => ({
  name,
  kind,
  lookbackDays,
  fields: {},
  searchable: (document) => ({ timeNs: kind === 'record' ? 0n : searchable(document).timeNs, fields: {} }),
})

/** Opens a build, or creates it. */
export function openBuild(
  { folder, share, tidying, keeps = 'all' }: BuildOptions,
  {
    index,
    projection,
    epoch,
    after,
  }: Readonly<{
    index: IndexName
    projection: Projection
    epoch: string
    after: Position
  }>,
): Build {
  const collections = new Map(
    collectionsOf(projection).map((given) => {
      const collection = keeps === 'entries' ? withoutSearch(given) : given
      const layOut = keeps === 'sums' ? tablesWithSums : tablesOf
      return [collection.name, { collection, tables: layOut(shapeOf(collection)) }]
    }),
  )
  const isScratch = keeps !== 'all'
  const tables = [...collections.values()].map((written) => written.tables)
  const shapes: Shapes = Object.fromEntries(tables.map(({ shape }) => [shape.name, shape]))
  const meta = prepared(openBuildRecord(folder, index, { epoch, shapes, after }), (opened) => {
    // A killed process may have left commits in WALs that are not synced.
    const left = filesWithWal(folder, index)
    syncDatabases(left, left)
    // Not with several writers: one may be creating what another finds.
    if (share !== undefined) return
    const stored = storedDays(folder, index)
    transaction(opened, () => nameDaysAnew(opened, stored))
  })
  const ofAll = readBuildRecord(meta)?.safe ?? 0
  const safe = Math.max(ofAll, share === undefined ? 0 : (readShare(meta, share) ?? 0))
  return {
    folder,
    index,
    epoch,
    share,
    isScratch,
    tables,
    collections,
    meta,
    makeDay: createMakeDay(tables, epoch, { flush: !isScratch }),
    ids: createKnownIds(tables),
    written: safe,
    safe,
    syncedAt: 0,
    syncTookMs: 0,
    unsynced: new Set(),
    created: new Map(),
    days: new Map(),
    erased: readErased(meta),
    reached: new Map(),
    tidier: createTidier(folder, { index, collections: tables, tidying }),
    told: undefined,
  }
}

/** Makes what was written to files of a build durable, and the names of those that it has created; not of one that goes with its process. */
export function syncFiles({ isScratch, created }: Build, paths: readonly string[]): void {
  const named = paths.filter((path) => created.has(path))
  if (!isScratch) syncDatabases(paths, named)
}

/** Syncs everything that was written, and then moves the checkpoint. */
function syncBuild(build: Build): void {
  const { meta, share, created, unsynced, written } = build
  if (written === build.safe) return
  syncFiles(build, [...unsynced])
  transaction(meta, () => {
    nameDays(meta, [...created.values()])
    if (share !== undefined) return writeShare(meta, share, written)
    writeSafe(meta, written)
    writeNamed(meta)
  })
  unsynced.clear()
  created.clear()
  build.safe = written
}

export function closeBuild(build: Build): void {
  syncBuild(build)
  build.meta.close()
}

/** A sync that takes longer, ms, is made as much less often: every workspace has files of its own, and the disk takes its time for each. */
const syncMsMax = 100
/** But no later than this after the last one has ended, ms: a disk that stands still once says nothing of the syncs to come. */
const unsyncedMsMax = 60_000

const syncAfterMs = (everyMs: number, tookMs: number): number =>
  Math.min(everyMs * Math.max(1, tookMs / syncMsMax), Math.max(everyMs, tookMs + unsyncedMsMax))

/** Syncs every `everyMs` or less often, by the heartbeats' own times. */
export function syncInTime(build: Build, at: number, everyMs: number): void {
  if (Math.abs(at - build.syncedAt) < syncAfterMs(everyMs, build.syncTookMs)) return
  const begunMs = performance.now()
  syncBuild(build)
  build.syncTookMs = performance.now() - begunMs
  build.syncedAt = at
}

/** The days that the build has files of for a workspace. */
export function daysOf({ folder, index, days }: Build, workspaceId: WorkspaceId): Set<string> {
  const known = days.get(workspaceId) ?? new Set(daysIn(folder, index, workspaceId))
  days.set(workspaceId, known)
  return known
}
