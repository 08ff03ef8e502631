import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { assert } from '#src/lib/assert.ts'
import type { IndexName, Scope } from '../../index-store.ts'
import { openDatabase, type Database } from './database.ts'
import { dayCollection, type DayCollection } from './day-query.ts'
import { buildFolder, dayOfFile, layoutOf, livePath, tablesOf, workspaceFolder, type Tables } from './layout.ts'
import { readLiveRevision } from './live.ts'
import { openMetaToRead, readMeta } from './meta.ts'
import { createOpenFiles, type OpenFiles } from './open-files.ts'

/** A build as readers see it. */
export type LiveBuild = Readonly<{ index: IndexName; meta: Database; collections: ReadonlyMap<string, Tables> }>

/** The files of one folder, opened for reading as they are asked for. */
export type DayFiles = Readonly<{
  live(projection: string): LiveBuild | undefined
  /** The files of a scope that hold anything, newest day first. `task` may use them until it returns: they stay open. */
  withDays<T>(scope: Scope, task: (days: readonly DayCollection[]) => T): T
  close(): void
}>

const readOnly = { readOnly: true, synchronous: 'NORMAL' } as const

/** Undefined when there is no such file yet, or it is only just being made. */
function openIfThere(path: string): Database | undefined {
  let database: Database
  try {
    database = openDatabase(path, readOnly)
  } catch (error) {
    if (isMissing(path)) return undefined
    throw error
  }
  if (layoutOf(database) !== 0n) return database
  database.close()
  return undefined
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

const isMissing = (path: string): boolean => !namesIn(dirname(path)).includes(basename(path))

function openBuild(folder: string, index: IndexName): LiveBuild | undefined {
  const meta = openMetaToRead(folder, index)
  const shapes = meta && readMeta(meta)?.shapes
  if (meta === undefined || shapes === undefined) {
    meta?.close()
    return undefined
  }
  const collections = new Map(Object.values(shapes).map((shape) => [shape.name, tablesOf(shape)]))
  return { index, meta, collections }
}

/** `onChange`: a projection's readers have moved away from this build, which may go or be made anew. */
function createLive(folder: string, onChange: (index: IndexName) => void) {
  let live: Database | undefined
  const builds = new Map<string, LiveBuild & Readonly<{ revision: bigint }>>()
  return {
    find(projection: string): LiveBuild | undefined {
      live ??= openIfThere(livePath(folder))
      const now = live && readLiveRevision(live, projection)
      if (now === undefined) return undefined
      const known = builds.get(projection)
      if (known?.index === now.index && known.revision === now.revision) return known
      known?.meta.close()
      builds.delete(projection)
      if (known !== undefined) onChange(known.index)
      const build = openBuild(folder, now.index)
      if (build !== undefined) builds.set(projection, { ...build, revision: now.revision })
      return build
    },
    close(): void {
      for (const { meta } of builds.values()) meta.close()
      live?.close()
    },
  }
}

function openDays(
  files: OpenFiles,
  folder: string,
  scope: Scope,
  build: LiveBuild,
  use: (file: Database) => void,
): DayCollection[] {
  const tables = build.collections.get(scope.collection)
  if (tables === undefined) return []
  const path = workspaceFolder(folder, build.index, scope.workspaceId)
  const { fromDay = '' } = scope
  const days = namesIn(path).flatMap((name) => dayOfFile(name) ?? [])
  return days
    .filter((day) => day >= fromDay)
    .sort()
    .reverse()
    .flatMap((day) => {
      const file = join(path, `${day}.db`)
      const database = files.use(file, () => openIfThere(file))
      if (database === undefined) return []
      use(database)
      return dayCollection(database, tables) ?? []
    })
}

/** At most `openMax` files stay open between two tasks; one task may open more. */
export function createDayFiles(folder: string, openMax: number): DayFiles {
  const inUse = new Set<Database>()
  const files = createOpenFiles(
    openMax,
    () => {},
    (database) => inUse.has(database),
  )
  const live = createLive(folder, (index) => files.closeWithin(buildFolder(folder, index)))
  /** Ends all reading, so that the next task can begin whatever became of this one. */
  const endReading = (): void => {
    const ended = [...inUse]
    inUse.clear()
    for (const database of ended) {
      try {
        database.exec('COMMIT')
      } catch {
        // It has failed, which the task was told; whoever asks for the file again opens it anew.
        files.close(database.path)
      }
    }
  }
  return {
    live: (projection) => live.find(projection),
    withDays(scope, task) {
      assert(inUse.size === 0, 'one task at a time reads the files')
      const build = live.find(scope.projection)
      if (build === undefined) return task([])
      try {
        // What is read of one file is of one moment: one read transaction for the whole task.
        return task(
          openDays(files, folder, scope, build, (database) => {
            inUse.add(database)
            database.exec('BEGIN')
          }),
        )
      } finally {
        endReading()
      }
    },
    close() {
      files.closeAll()
      live.close()
    },
  }
}
