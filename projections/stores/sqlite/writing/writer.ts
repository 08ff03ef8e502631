import { existsSync } from 'node:fs'
import { isOperatingFailure, PermanentError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Checkpoint, EntryKey, IndexName, IndexWriter, KeptDays, WorkspaceEntries } from '../../../index-store.ts'
import { daysLookedAt, daysReplaced, type Entry } from '../../../projection.ts'
import { collectionIn, openedIn, otherLog } from '../../refusals.ts'
import { dropBuild, removeDays, removeDropped, storedBuilds } from '../build-folders.ts'
import { hasTable, openDatabase, prepared, transaction, type Database } from '../database.ts'
import { isDamage } from '../failure.ts'
import { namesIn } from '../folder-names.ts'
import { makeFolderOf } from '../make-folder-of.ts'
import { forgetDays, noteGone, noteMade, storedDays } from '../known-days.ts'
import { buildFolder, dayOfAnyFile, dayPath, metaPath, workspaceFolder } from '../paths.ts'
import { checkOwner, OtherOwnerError, writeOwner } from '../file-owner.ts'
import { layOutDay, layoutOf } from '../layout.ts'
import { openRosters, readRoster, renewLive, writeRoster } from '../rosters.ts'
import { storedBuildRecord, writeErased } from '../build-record.ts'
import { createOpenFiles, type OpenFiles } from '../open-files.ts'
import { positionOf, readEntry } from '../stored-rows.ts'
import { closeBuild, daysOf, openBuild, syncFiles, syncInTime, type Build, type BuildOptions } from './build.ts'
import { writeDay, type Batch, type DayChanges, type Replaced } from './day-writer.ts'
import { dropDays } from './drop-days.ts'
import { createTellAgain } from './tell-again.ts'

type SqliteWriterOptions = BuildOptions &
  Readonly<{
    limits: Readonly<{ indexFilesOpenMax: number }>
    /** Milliseconds between two syncs of the files to the disk, by the heartbeats' own times. */
    syncEveryMs?: number
    /** Milliseconds after which a heartbeat is told again within a batch. */
    tellAgainMs?: number
    /** Throws TransientError while the disk has no room for what days take. Asked again before each commit: a batch may take seconds. */
    checkRoom?: () => void
  }>

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

/** Creates the tables of a file that has none, as of one that was emptied; true if it had none. */
function prepareDay(database: Database, { index, epoch, tables }: Build): boolean {
  return transaction(database, () => {
    if (layoutOf(database) === 0n) {
      layOutDay(database, tables, epoch)
      writeOwner(database, database.path)
      return true
    }
    checkOwner(database)
    if (database.get('SELECT epoch FROM file')?.['epoch'] === epoch) return false
    throw new PermanentError({ operation: 'open', subject: database.path, hint: `it is not of the log of ${index}` })
  })
}

type Files = OpenFiles & Readonly<{ open(build: Build, workspaceId: WorkspaceId, day: string): Database }>

const pathOf = ({ folder, index }: Build, workspaceId: WorkspaceId, day: string): string =>
  dayPath(folder, index, workspaceId, day)

function createFiles(openMax: number, builds: ReadonlyMap<IndexName, Build>): Files {
  const sync = ({ path }: Database): void => {
    // Its commits are synced before a connection is closed, because closing the last one removes the WAL.
    for (const build of builds.values()) {
      if (!build.unsynced.has(path)) continue
      syncFiles(build, [path])
      // Its name is still to be noted (`created`), but there is nothing more of it to be synced.
      build.unsynced.delete(path)
    }
  }
  const files = createOpenFiles(openMax, sync)
  return {
    ...files,
    open(build, workspaceId, day) {
      const path = pathOf(build, workspaceId, day)
      return files.use(path, () => {
        makeFolderOf(path)
        const isMade = build.makeDay(path)
        return prepared(openDatabase(path, build.isScratch ? 'OFF' : 'NORMAL'), (database) => {
          const isNew = prepareDay(database, build) || isMade
          if (isNew) noteMade(build.meta, { workspaceId, day })
          // Also one that a killed process has made, and not written to.
          if (isNew || positionOf(database) === 0) {
            build.created.set(path, { workspaceId, day })
            build.unsynced.add(path)
          }
          daysOf(build, workspaceId).add(day)
        })
      })
    },
  }
}

function loadEntries(files: Files, build: Build, { workspaceId, collection, id, day }: EntryKey): readonly Entry[] {
  const written = collectionIn(build.collections, collection)
  const known = daysOf(build, workspaceId)
  const days = daysLookedAt(day, written.collection.lookbackDays).filter((one) => known.has(one))
  return days.flatMap((one) => {
    const open = (): Database => files.open(build, workspaceId, one)
    const asked = { day, collection, id, open }
    if (one !== day && !build.ids.mayHold({ ...asked, path: pathOf(build, workspaceId, one) })) return []
    return readEntry(open(), written.tables, id, one) ?? []
  })
}

function writeEntries(files: Files, build: Build, { workspaceId, entries }: WorkspaceEntries, batch: Batch): void {
  const erased = build.erased.get(workspaceId) ?? 0
  build.reached.set(workspaceId, batch.position)
  const kept = erased === 0 ? entries : entries.filter(({ position }) => position > erased)
  for (const [day, changes] of changesByDay(build, kept, daysOf(build, workspaceId))) {
    const database = files.open(build, workspaceId, day)
    build.unsynced.add(database.path)
    build.tidier.wrote(database.path)
    build.ids.give(database.path, changes.entries)
    writeDay(database, build.collections, changes, batch)
    batch.onStep()
  }
}

function isRoomy(checkRoom: () => void): boolean {
  try {
    checkRoom()
    return true
  } catch (error) {
    if (isOperatingFailure(error)) return false
    throw error
  }
}

/** Closes a file that is about to be removed, without syncing it. */
function letGo(files: Files, build: Build | undefined, path: string): void {
  build?.unsynced.delete(path)
  build?.created.delete(path)
  build?.ids.forget(path)
  files.close(path)
}

const letGoOfDays =
  (files: Files, build: Build | undefined, telling: Readonly<{ again(): void }>) =>
  (workspaceId: WorkspaceId, day: string, path: string): void => {
    telling.again()
    build?.days.get(workspaceId)?.delete(day)
    letGo(files, build, path)
  }

type Erasure = Readonly<{ workspaceId: WorkspaceId; position: Position }>

/**
 * Whether the build has come to an erasure before: then all that it holds of the workspace is from after that, and is not written again. Otherwise
 * only a process that has ended can have written what is from after it, and that is written again.
 */
const isPast = ({ written, reached }: Build, { workspaceId, position }: Erasure): boolean =>
  position <= Math.max(written, reached.get(workspaceId) ?? 0)

/** Whether a file stays: it holds what is from after the erasure. One of another workspace or day, or one that is damaged, does not tell. */
function stays(build: Build, erasure: Erasure, open: () => Database): boolean {
  try {
    return positionOf(open()) > erasure.position
  } catch (error) {
    if (error instanceof OtherOwnerError || isDamage(error)) return isPast(build, erasure)
    throw error
  }
}

/**
 * Removes the files of a workspace, except those written after its erasure. Readers that have a file open see no error; at their next query they open
 * the build anew. An earlier removal may have been interrupted: then only the files beside a day's are left.
 */
function eraseFiles(files: Files, build: Build, erasure: Erasure): void {
  const { workspaceId, position } = erasure
  writeErased(build.meta, workspaceId, position)
  build.erased.set(workspaceId, Math.max(build.erased.get(workspaceId) ?? 0, position))
  const own = workspaceFolder(build.folder, build.index, workspaceId)
  const whole = daysOf(build, workspaceId)
  const kept = new Set<string>()
  const gone: string[] = []
  for (const day of new Set([...whole, ...namesIn(own).flatMap((name) => dayOfAnyFile(name) ?? [])])) {
    if (whole.has(day) && stays(build, erasure, () => files.open(build, workspaceId, day))) {
      kept.add(day)
      continue
    }
    const path = pathOf(build, workspaceId, day)
    letGo(files, build, path)
    gone.push(path)
  }
  // One that has been lost since the erasure stays noted.
  const mayBeLost = isPast(build, erasure)
  forgetDays(build.meta, ({ day }) => !kept.has(day) && (whole.has(day) || !mayBeLost), workspaceId)
  build.days.delete(workspaceId)
  removeDays(own, gone)
}

/** The record forgets the days that are dropped, even if the build is not open. */
function forgetDropped(folder: string, index: IndexName, kept: KeptDays, open: Database | undefined): void {
  const path = metaPath(folder, index)
  if (open === undefined && !existsSync(path)) return
  const meta = open ?? openDatabase(path)
  try {
    if (hasTable(meta, 'lostDays')) forgetDays(meta, ({ workspaceId, day }) => day < kept.of(workspaceId))
  } finally {
    if (open === undefined) meta.close()
  }
}

/** The checkpoint of a build that is not open, or does not exist. */
function checkpointOnDisk(folder: string, index: IndexName): Checkpoint {
  const meta = storedBuildRecord(folder, index)
  return { epoch: meta?.epoch ?? '', position: meta?.safe ?? 0 }
}

/** The writing side in a folder of SQLite files. It blocks while it works: run it in a thread of its own. */
export function createSqliteIndexWriter(options: SqliteWriterOptions): IndexWriter {
  const { folder, limits, syncEveryMs = 2_000, share, tellAgainMs = 1_500, checkRoom = () => {} } = options
  const builds = new Map<IndexName, Build>()
  const telling = createTellAgain(() => builds.values(), tellAgainMs)
  const files = createFiles(limits.indexFilesOpenMax, builds)
  const live = openRosters(folder)
  removeDropped(folder)
  const buildOf = (index: IndexName): Build => openedIn(builds, index)
  return {
    async open(index, projection, epoch, after = 0) {
      if (!builds.has(index)) builds.set(index, openBuild(options, { index, projection, epoch, after }))
      if (buildOf(index).epoch !== epoch) throw otherLog(index)
    },
    async load(index, keys) {
      telling.begin()
      return keys.map((key) => {
        telling.again()
        return loadEntries(files, buildOf(index), key)
      })
    },
    async write(index, entries, checkpoint) {
      const build = buildOf(index)
      if (entries.length > 0) checkRoom()
      telling.begin()
      const batch = { position: checkpoint.position, onStep: () => telling.again(), checkRoom }
      for (const changes of entries) writeEntries(files, build, changes, batch)
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
        // Only when there is nothing else to do.
        if (isRoomy(checkRoom)) build.tidier.turn(progress)
      }
      syncInTime(build, progress.at, syncEveryMs)
    },
    roster: async (projection) => readRoster(live, projection),
    changeRoster: async (projection, roster) => writeRoster(live, projection, roster),
    builds: async (projection) => storedBuilds(folder, projection),
    async eraseWorkspace(index, workspaceId, position) {
      eraseFiles(files, buildOf(index), { workspaceId, position })
      renewLive(live, index)
    },
    async dropDays(index, kept) {
      const build = builds.get(index)
      telling.begin()
      forgetDropped(folder, index, kept, build?.meta)
      const dropped = dropDays(folder, index, kept, letGoOfDays(files, build, telling))
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
      for (const build of builds.values()) closeBuild(build)
      files.closeAll()
      builds.clear()
      live.close()
    },
  }
}
