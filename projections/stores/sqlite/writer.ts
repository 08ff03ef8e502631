import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PermanentError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type {
  Checkpoint,
  EntryKey,
  IndexName,
  IndexWriter,
  KeptDays,
  LostDay,
  WorkspaceEntries,
} from '../../index-store.ts'
import {
  collectionsOf,
  daysLookedAt,
  daysReplaced,
  type Collection,
  type Entry,
  type Projection,
} from '../../projection.ts'
import { collectionIn, openedIn, otherLog } from '../builds.ts'
import { shapeOf, type Shapes } from '../row.ts'
import { hasTable, openDatabase, transaction, type Database } from './database.ts'
import {
  positionOf,
  readEntry,
  writeDay,
  type Batch,
  type DayChanges,
  type Replaced,
  type Written,
} from './day-writer.ts'
import { daysIn, dropBuild, removeDays, removeDropped, storedBuilds } from './build-folders.ts'
import { dropDays } from './drop-days.ts'
import { looked } from './folder-names.ts'
import { forgetDays, nameDays, noteGone, noteMade, renameDays, storedDays } from './known-days.ts'
import { buildFolder, fileOfDay, layOutDay, layoutOf, metaPath, tablesOf, workspaceFolder } from './layout.ts'
import { openLive, readRoster, renewLive, writeRoster } from './live.ts'
import { createTellAgain, type Told } from './tell-again.ts'
import { createTermsMerger, type TermsMerger } from './merge-terms.ts'
import {
  openMeta,
  readErased,
  readMeta,
  readShare,
  storedMeta,
  writeErased,
  writeNamed,
  writeSafe,
  writeShare,
} from './meta.ts'
import { createOpenFiles } from './open-files.ts'
import { syncDatabases } from './sync-files.ts'

type SqliteWriterOptions = Readonly<{
  folder: string
  limits: Readonly<{ indexFilesOpenMax: number }>
  /** Milliseconds between two syncs of the files to the disk, by the heartbeats' own times. */
  syncEveryMs?: number
  /**
   * The name of this writer's share of the work, where several writers fold one build, each its own workspaces. Its checkpoint
   * is the share's; readers are told nothing.
   */
  share?: string
  /** Keeps entries as they are and nothing that searches go by: for builds that are only read whole. */
  entriesAlone?: boolean
  /** Pages of postings that are merged with a heartbeat, at most each second. */
  mergedPagesMax?: number
  /** Milliseconds after which a heartbeat is told again within a batch. */
  tellAgainMs?: number
}>

type Build = {
  index: IndexName
  epoch: string
  shapes: Shapes
  collections: ReadonlyMap<string, Written>
  meta: Database
  /** The batch that was written last; everything up to `safe` is on the disk. */
  written: Position
  safe: Position
  syncedAt: number
  /** Files with commits that may not be on the disk yet, and those of them that are new. */
  unsynced: Set<string>
  created: Map<string, LostDay>
  /** Days that each workspace has files for. */
  days: Map<WorkspaceId, Set<string>>
  erased: Map<WorkspaceId, Position>
  merger: TermsMerger
  told: Told | undefined
}

function filesWithWal(folder: string, index: IndexName): readonly string[] {
  return looked(join(folder, index), (path) => readdirSync(path, { recursive: true, encoding: 'utf8' }))
    .filter((name) => name.endsWith('.db-wal'))
    .map((name) => join(folder, index, name.slice(0, -'-wal'.length)))
}

type Opened = Readonly<{ index: IndexName; projection: Projection; epoch: string; after: Position }>
type BuildOptions = Pick<SqliteWriterOptions, 'folder' | 'share' | 'mergedPagesMax' | 'entriesAlone'>

/** The collection without what searches go by. A record's time is in its id; a document's place goes by what it says. */
const withoutSearch = ({ name, kind, lookbackDays, searchable }: Collection): Collection => ({
  name,
  kind,
  lookbackDays,
  fields: {},
  searchable: (document) => ({ timeNs: kind === 'record' ? 0n : searchable(document).timeNs, fields: {} }),
})

function createBuild(
  { folder, share, mergedPagesMax, entriesAlone = false }: BuildOptions,
  { index, projection, epoch, after }: Opened,
): Build {
  const collections = new Map(
    collectionsOf(projection).map((given) => {
      const collection = entriesAlone ? withoutSearch(given) : given
      return [collection.name, { collection, tables: tablesOf(shapeOf(collection)) }]
    }),
  )
  const shapes = Object.fromEntries([...collections].map(([name, { tables }]) => [name, tables.shape]))
  const meta = openMeta(folder, index, { epoch, shapes, after })
  const merged = [...collections.values()].map(({ tables }) => tables)
  const merger = createTermsMerger(folder, { index, collections: merged, pagesMax: mergedPagesMax })
  const ofAll = readMeta(meta)?.safe ?? 0
  const safe = Math.max(ofAll, share === undefined ? 0 : (readShare(meta, share) ?? 0))
  // A process that was killed may have left commits in WALs that are not on the disk.
  const left = filesWithWal(folder, index)
  syncDatabases(left, left)
  // Of several writers one may be making what another finds.
  if (share === undefined) {
    const stored = storedDays(folder, index)
    transaction(meta, () => renameDays(meta, stored))
  }
  const sets = {
    unsynced: new Set<string>(),
    created: new Map<string, LostDay>(),
    days: new Map<WorkspaceId, Set<string>>(),
    erased: readErased(meta),
  }
  return { index, epoch, shapes, collections, meta, written: safe, safe, syncedAt: 0, ...sets, merger, told: undefined }
}

/** Everything written so far is put on the disk, and then the build's record says so. */
function syncBuild(build: Build, share: string | undefined): void {
  if (build.written === build.safe) return
  syncDatabases(build.unsynced, build.created.keys())
  transaction(build.meta, () => {
    nameDays(build.meta, [...build.created.values()])
    if (share !== undefined) return writeShare(build.meta, share, build.written)
    writeSafe(build.meta, build.written)
    writeNamed(build.meta)
  })
  build.unsynced.clear()
  build.created.clear()
  build.safe = build.written
}

function closeBuild(build: Build, share: string | undefined): void {
  syncBuild(build, share)
  build.meta.close()
}

/** By the heartbeats' own times. */
function syncInTime(build: Build, share: string | undefined, at: number, everyMs: number): void {
  if (Math.abs(at - build.syncedAt) < everyMs) return
  syncBuild(build, share)
  build.syncedAt = at
}

function daysOf(folder: string, build: Build, workspaceId: WorkspaceId): Set<string> {
  const known = build.days.get(workspaceId)
  if (known !== undefined) return known
  const days = new Set(daysIn(folder, build.index, workspaceId))
  build.days.set(workspaceId, days)
  return days
}

/** What a workspace's entries of a batch do to each day's file. */
function changesByDay(build: Build, entries: readonly Entry[], days: ReadonlySet<string>): Map<string, DayChanges> {
  const changes = new Map<string, { entries: Entry[]; replaced: Replaced[] }>()
  const of = (day: string): { entries: Entry[]; replaced: Replaced[] } => {
    const known = changes.get(day) ?? { entries: [], replaced: [] }
    changes.set(day, known)
    return known
  }
  for (const entry of entries) {
    const written = collectionIn(build.collections, entry.collection)
    of(entry.day).entries.push(entry)
    if (entry.replaces !== true) continue
    for (const day of daysReplaced(entry.day, written.collection.lookbackDays)) {
      if (days.has(day)) of(day).replaced.push(entry)
    }
  }
  return changes
}

/** Lays the file out when it is new, and says whether it was. */
function prepareDay(database: Database, { index, epoch, shapes }: Build): boolean {
  return transaction(database, () => {
    if (layoutOf(database) === 0n) {
      layOutDay(database, shapes, epoch)
      return true
    }
    if (database.get('SELECT epoch FROM file')?.['epoch'] === epoch) return false
    throw new PermanentError({ operation: 'open', subject: database.path, hint: `it is not of the log of ${index}` })
  })
}

type Files = Readonly<{
  open(build: Build, workspaceId: WorkspaceId, day: string): Database
  close(path: string): void
  /** Those within a folder that is about to go. */
  closeWithin(folder: string): void
  closeAll(): void
}>

function createFiles(folder: string, openMax: number, builds: ReadonlyMap<IndexName, Build>): Files {
  const sync = ({ path }: Database): void => {
    // Before a connection goes its commits are put on the disk: closing the last one removes the WAL.
    for (const build of builds.values()) {
      if (build.unsynced.has(path)) syncDatabases([path], build.created.has(path) ? [path] : [])
    }
  }
  const files = createOpenFiles(openMax, sync)
  return {
    open(build, workspaceId, day) {
      const path = join(workspaceFolder(folder, build.index, workspaceId), fileOfDay(day))
      const open = (): Database => {
        mkdirSync(workspaceFolder(folder, build.index, workspaceId), { recursive: true })
        const database = openDatabase(path, { readOnly: false, synchronous: 'NORMAL' })
        if (prepareDay(database, build)) {
          build.created.set(path, { workspaceId, day })
          noteMade(build.meta, { workspaceId, day })
          build.unsynced.add(path)
        }
        daysOf(folder, build, workspaceId).add(day)
        return database
      }
      const database = files.use(path, open)
      if (database === undefined) throw new PermanentError({ operation: 'open', subject: path })
      return database
    },
    close: files.close,
    closeWithin: (folder) => files.closeWithin(folder),
    closeAll: files.closeAll,
  }
}

function loadEntries(
  folder: string,
  files: Files,
  build: Build,
  { workspaceId, collection, id, day }: EntryKey,
): readonly Entry[] {
  const written = collectionIn(build.collections, collection)
  const known = daysOf(folder, build, workspaceId)
  return daysLookedAt(day, written.collection.lookbackDays)
    .filter((one) => known.has(one))
    .flatMap((one) => readEntry(files.open(build, workspaceId, one), written.tables, id, one) ?? [])
}

function writeEntries(
  folder: string,
  files: Files,
  build: Build,
  { workspaceId, entries }: WorkspaceEntries,
  batch: Batch,
): void {
  const erased = build.erased.get(workspaceId) ?? 0
  const kept = erased === 0 ? entries : entries.filter(({ position }) => position > erased)
  for (const [day, changes] of changesByDay(build, kept, daysOf(folder, build, workspaceId))) {
    const database = files.open(build, workspaceId, day)
    build.unsynced.add(database.path)
    build.merger.wrote(database.path)
    writeDay(database, build.collections, changes, batch)
    batch.onStep()
  }
}

/** Closes a file that is about to go: it is not put on the disk before. */
function letGo(files: Files, build: Build | undefined, path: string): void {
  build?.unsynced.delete(path)
  build?.created.delete(path)
  files.close(path)
}

const letGoOfDays =
  (files: Files, build: Build | undefined) =>
  (workspaceId: WorkspaceId, day: string, path: string): void => {
    build?.days.get(workspaceId)?.delete(day)
    letGo(files, build, path)
  }

/**
 * Removes the files of a workspace but those that were written after its erasure. Readers that have one open see nothing of that: its
 * name is gone, and at their next query they open the build anew.
 */
function eraseFiles(
  folder: string,
  files: Files,
  build: Build,
  { workspaceId, position }: Readonly<{ workspaceId: WorkspaceId; position: Position }>,
): void {
  writeErased(build.meta, workspaceId, position)
  build.erased.set(workspaceId, Math.max(build.erased.get(workspaceId) ?? 0, position))
  const gone: string[] = []
  const stays = new Set<string>()
  for (const day of daysOf(folder, build, workspaceId)) {
    const database = files.open(build, workspaceId, day)
    if (positionOf(database) > position) {
      stays.add(day)
      continue
    }
    letGo(files, build, database.path)
    gone.push(database.path)
  }
  forgetDays(build.meta, (of) => of.workspaceId === workspaceId && !stays.has(of.day))
  build.days.delete(workspaceId)
  removeDays(workspaceFolder(folder, build.index, workspaceId), gone)
}

/** Of a build that is not open too. */
function forgetDropped(folder: string, index: IndexName, kept: KeptDays, open: Database | undefined): void {
  const path = metaPath(folder, index)
  if (open === undefined && !existsSync(path)) return
  const meta = open ?? openDatabase(path, { readOnly: false, synchronous: 'NORMAL' })
  try {
    if (hasTable(meta, 'lostDays')) forgetDays(meta, ({ workspaceId, day }) => day < kept.of(workspaceId))
  } finally {
    if (open === undefined) meta.close()
  }
}

/** The checkpoint of a build that is not open, or not there. */
function checkpointOnDisk(folder: string, index: IndexName): Checkpoint {
  const meta = storedMeta(folder, index)
  return { epoch: meta?.epoch ?? '', position: meta?.safe ?? 0 }
}

/** The writing side in a folder of SQLite files. It blocks while it works: run it in a thread of its own. */
export function createSqliteIndexWriter(options: SqliteWriterOptions): IndexWriter {
  const { folder, limits, syncEveryMs = 2_000, share, tellAgainMs = 1_500 } = options
  const builds = new Map<IndexName, Build>()
  const telling = createTellAgain(() => builds.values(), tellAgainMs)
  const files = createFiles(folder, limits.indexFilesOpenMax, builds)
  const live = openLive(folder)
  removeDropped(folder)
  const buildOf = (index: IndexName): Build => openedIn(builds, index)
  return {
    async open(index, projection, epoch, after = 0) {
      if (!builds.has(index)) builds.set(index, createBuild(options, { index, projection, epoch, after }))
      if (buildOf(index).epoch !== epoch) throw otherLog(index)
    },
    load: async (index, keys) => keys.map((key) => loadEntries(folder, files, buildOf(index), key)),
    async write(index, entries, checkpoint) {
      const build = buildOf(index)
      telling.begin()
      const batch = { position: checkpoint.position, onStep: () => telling.again() }
      for (const of of entries) writeEntries(folder, files, build, of, batch)
      if (checkpoint.isAhead !== true) build.written = Math.max(build.written, checkpoint.position)
    },
    async checkpoint(index) {
      const build = builds.get(index)
      return build === undefined ? checkpointOnDisk(folder, index) : { epoch: build.epoch, position: build.safe }
    },
    async heartbeat(index, progress) {
      const build = buildOf(index)
      if (share === undefined) {
        telling.tell(build, progress)
        // What waits until there is nothing else to do.
        build.merger.turn(progress)
      }
      syncInTime(build, share, progress.at, syncEveryMs)
    },
    roster: async (projection) => readRoster(live, projection),
    changeRoster: async (projection, roster) => writeRoster(live, projection, roster),
    builds: async (projection) => storedBuilds(folder, projection),
    async eraseWorkspace(index, workspaceId, position) {
      eraseFiles(folder, files, buildOf(index), { workspaceId, position })
      renewLive(live, index)
    },
    async dropDays(index, kept) {
      const build = builds.get(index)
      forgetDropped(folder, index, kept, build?.meta)
      const dropped = dropDays(folder, index, kept, letGoOfDays(files, build))
      if (build !== undefined) transaction(build.meta, () => noteGone(build.meta, storedDays(folder, index)))
      // Readers close what they have open of it.
      if (dropped > 0) renewLive(live, index)
      return dropped
    },
    async drop(index) {
      builds.get(index)?.meta.close()
      builds.delete(index)
      files.closeWithin(buildFolder(folder, index))
      dropBuild(folder, index)
    },
    async close() {
      for (const build of builds.values()) closeBuild(build, share)
      files.closeAll()
      builds.clear()
      live.close()
    },
  }
}
