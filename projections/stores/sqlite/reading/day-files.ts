import type { Position } from '#src/events/envelope.ts'
import { assert } from '#src/lib/assert.ts'
import { TooBroadError, type IndexName, type Scope } from '../../../index-store.ts'
import { openDatabaseToRead, type Database, type Look } from '../database.ts'
import { openIfThere } from '../if-there.ts'
import { createFolderNames } from '../folder-names.ts'
import { buildFolder, dayOfFile, dayPath, livePath, workspaceFolder } from '../paths.ts'
import { checkOwner } from '../file-owner.ts'
import { layoutOf, tablesOf, type Tables } from '../layout.ts'
import { readLiveBuilds, type LiveRevision } from '../rosters.ts'
import { openBuildRecordToRead } from '../build-record.ts'
import { createOpenFiles } from '../open-files.ts'
import { readCollections, type DayCollection } from './day-query.ts'

/** A build as readers see it. `after`: where its fold began. */
type LiveBuild = Readonly<{
  index: IndexName
  meta: Database
  after: Position
  collections: ReadonlyMap<string, Tables>
}>

/** The files of one folder, opened for reading as they are asked for. */
export type DayFiles = Readonly<{
  /** The live build. What was read before this call may be older; what is read after it is not. */
  liveNow(projection: string): LiveBuild | undefined
  /** The non-empty files of a scope, newest day first. They stay open until `task` returns. */
  withDays<T>(scope: Scope, task: (days: readonly DayCollection[]) => T): T
  /** All that `task` reads from one file is of one moment, and folders are listed once. */
  together(task: () => void): void
  /** Closes the files of builds that readers have left: questions do so too, where there are any. */
  leave(): void
  close(): void
}>

/**
 * The page cache of an open file, kilobytes: a term is looked up in many places of a big file. Only so many files have that much, the others
 * SQLite's 2 MB. Each query thread has its own.
 */
const roomyCacheKb = 16_384
const roomyFilesMax = 8

const laidOut = (database: Database): bigint | undefined => layoutOf(database) || undefined

/** Undefined if the file does not exist, or is just being created. */
const openDay = (path: string, look: Look | undefined): Database | undefined =>
  openIfThere(
    path,
    (found) => openDatabaseToRead(found, look),
    (database) => {
      const version = laidOut(database)
      if (version !== undefined) checkOwner(database)
      return version
    },
  )?.database

function openBuild(folder: string, index: IndexName): LiveBuild | undefined {
  const opened = openBuildRecordToRead(folder, index)
  if (opened === undefined) return undefined
  const { database, found: meta } = opened
  const collections = new Map(Object.values(meta.shapes).map((shape) => [shape.name, tablesOf(shape)]))
  return { index, meta: database, after: meta.after, collections }
}

/** `onChange`: readers have moved away from this build, which may be removed or recreated. */
function createLive(folder: string, onChange: (index: IndexName) => void) {
  let live: Database | undefined
  const builds = new Map<string, LiveBuild & Readonly<{ revision: bigint }>>()
  const find = (projection: string, now: LiveRevision | undefined): LiveBuild | undefined => {
    if (now === undefined) return undefined
    const known = builds.get(projection)
    if (known?.index === now.index && known.revision === now.revision) return known
    known?.meta.close()
    builds.delete(projection)
    if (known !== undefined) onChange(known.index)
    const build = openBuild(folder, now.index)
    if (build !== undefined) builds.set(projection, { ...build, revision: now.revision })
    return build
  }
  /** The current live build of each projection, looked up when first asked for. */
  const look = (): ((projection: string) => LiveBuild | undefined) => {
    live ??= openIfThere(livePath(folder), openDatabaseToRead, laidOut)?.database
    const now = live === undefined ? new Map<string, LiveRevision>() : readLiveBuilds(live)
    return oncePerName((projection) => find(projection, now.get(projection)))
  }
  return {
    look,
    /** Leaves the builds that readers have left. A thread may still do so once all is closed. */
    leave(): void {
      if (builds.size > 0) [...builds.keys()].forEach(look())
    },
    close(): void {
      for (const { meta } of builds.values()) meta.close()
      builds.clear()
      live?.close()
    },
  }
}

/** What is known of the files during a task. `open` begins to read a file, and returns what it holds. */
type Reading = Readonly<{
  live(projection: string): LiveBuild | undefined
  namesIn(folder: string): readonly string[]
  open(path: string): ReturnType<typeof readCollections> | undefined
}>

function openDays(reading: Reading, folder: string, scope: Scope, build: LiveBuild): DayCollection[] {
  const tables = build.collections.get(scope.collection)
  if (tables === undefined) return []
  const { workspaceId, fromDay = '' } = scope
  const names = reading.namesIn(workspaceFolder(folder, build.index, workspaceId))
  const days = names.flatMap((name) => dayOfFile(name) ?? [])
  return days
    .filter((day) => day >= fromDay)
    .sort()
    .reverse()
    .flatMap((day) => {
      const held = reading.open(dayPath(folder, build.index, workspaceId, day))?.get(tables.shape.name)
      return held === undefined ? [] : { ...held, day, tables }
    })
}

/** `find`, called once for each name. */
function oncePerName<T>(find: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>()
  return (name) => {
    if (!known.has(name)) known.set(name, find(name))
    return known.get(name) as T
  }
}

/** The open files. At most `openMax` stay open between two tasks; a task may open more. */
function createConnections(openMax: number, look: Look | undefined) {
  const inUse = new Set<Database>()
  const roomy = new Set<string>()
  const files = createOpenFiles(
    openMax,
    ({ path }) => roomy.delete(path),
    (database) => inUse.has(database),
  )
  const giveRoom = (database: Database): void => {
    if (roomy.size >= roomyFilesMax || roomy.has(database.path)) return
    roomy.add(database.path)
    database.get(`PRAGMA cache_size = -${roomyCacheKb}`)
  }
  return {
    isReading: () => inUse.size > 0,
    /** Begins a read transaction on a file, until `endReading`: what is read from it is of one moment. */
    read(path: string): Database | undefined {
      const database = files.use(path, () => openDay(path, look))
      if (database === undefined) return undefined
      inUse.add(database)
      database.exec('BEGIN')
      giveRoom(database)
      return database
    },
    /** Ends all read transactions, whatever became of the task. */
    endReading(): void {
      const ended = [...inUse]
      inUse.clear()
      for (const database of ended) {
        try {
          database.exec('COMMIT')
        } catch {
          // The task has seen the failure. The next one opens the file again.
          files.close(database.path)
        }
      }
    },
    closeWithin: (path: string): void => files.closeWithin(path),
    close: (): void => files.closeAll(),
  }
}

/** `look`: called now and then while rows are read. What it throws ends the task. */
export function createDayFiles(folder: string, openMax: number, look?: Look): DayFiles {
  const connections = createConnections(openMax, look)
  const namesIn = createFolderNames()
  const live = createLive(folder, (index) => connections.closeWithin(buildFolder(folder, index)))
  let reading: Reading | undefined
  let hasRead = false
  let isHeld = false
  const begin = (): Reading => ({
    live: live.look(),
    namesIn: oncePerName(namesIn),
    open: oncePerName((path) => {
      const database = connections.read(path)
      return database && readCollections(database)
    }),
  })
  const end = (): void => {
    reading = undefined
    hasRead = false
    connections.endReading()
  }
  return {
    liveNow(projection) {
      if (hasRead) end()
      if (!isHeld) return live.look()(projection)
      reading ??= begin()
      return reading.live(projection)
    },
    withDays(scope, task) {
      assert(isHeld || !connections.isReading(), 'one task at a time reads the files')
      let isBroken = false
      try {
        reading ??= begin()
        hasRead = true
        const build = reading.live(scope.projection)
        return task(build === undefined ? [] : openDays(reading, folder, scope, build))
      } catch (error) {
        isBroken = !(error instanceof TooBroadError)
        throw error
      } finally {
        if (!isHeld || isBroken) end()
      }
    },
    together(task) {
      assert(!isHeld, 'one task at a time reads the files')
      isHeld = true
      try {
        task()
      } finally {
        isHeld = false
        end()
      }
    },
    leave: () => live.leave(),
    close() {
      connections.close()
      live.close()
    },
  }
}
