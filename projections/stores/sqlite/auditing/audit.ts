import { existsSync, mkdirSync, rmSync } from 'node:fs'
import type { IndexAudit, Part } from '../../../index-audit.ts'
import type { IndexName } from '../../../index-store.ts'
import { collectionsOf, type Projection } from '../../../projection.ts'
import type { Shapes } from '../../row.ts'
import { daysIn } from '../build-folders.ts'
import { openDatabaseToAudit } from '../database.ts'
import { checkOwner } from '../file-owner.ts'
import { ifThere } from '../if-there.ts'
import { missedDays, storedDays } from '../known-days.ts'
import { dayPath, workspaceFolder } from '../paths.ts'
import { tablesOf, tablesWithSums } from '../layout.ts'
import { storedBuildRecord } from '../build-record.ts'
import { syncDatabases } from '../sync-files.ts'
import { freezeFile } from './freeze-file.ts'
import type { CollectionToRead } from './held-collection.ts'

type AuditOptions = Readonly<{
  folder: string
  /** The projection of a build, with all its stored collections: of builds that have sums over their postings. */
  summed?: (index: IndexName) => Projection | undefined
}>

function collectionsIn({ summed }: AuditOptions, index: IndexName, stored: Shapes): readonly CollectionToRead[] {
  const shapes = Object.values(stored)
  const projection = summed?.(index)
  if (projection === undefined) return shapes.map((shape) => ({ tables: tablesOf(shape) }))
  const named = new Map(collectionsOf(projection).map((collection) => [collection.name, collection]))
  return shapes.map((shape) => ({ tables: tablesWithSums(shape), collection: named.get(shape.name) }))
}

/** A copy of one moment, made without stopping the writer. Throws OtherOwnerError. */
function copyFile(source: string, target: string): void {
  const database = openDatabaseToAudit(source)
  try {
    checkOwner(database)
    database.run('VACUUM INTO ?', target)
  } finally {
    database.close()
  }
}

/** Reads the builds in a folder of SQLite files whole. It blocks while it works. */
export function createSqliteIndexAudit(options: AuditOptions): IndexAudit {
  const { folder } = options
  const known = new Map<IndexName, readonly CollectionToRead[]>()
  /** A build keeps the collections that it was made with, so they are read once, not with each of its files. */
  const collectionsOnce = (index: IndexName): readonly CollectionToRead[] => {
    const found = known.get(index)
    if (found !== undefined) return found
    const shapes = storedBuildRecord(folder, index)?.shapes
    if (shapes === undefined) return []
    const collections = collectionsIn(options, index, shapes)
    known.set(index, collections)
    return collections
  }
  const fileOf = (index: IndexName, { workspaceId, day }: Part): string => dayPath(folder, index, workspaceId, day)
  return {
    parts: async (index) => storedDays(folder, index),
    lost: async (index) => missedDays(folder, index),
    hold: async () => ({ release: async () => {} }),
    freeze: async (index, part) => freezeFile({ path: fileOf(index, part), day: part.day }, collectionsOnce(index)),
    async copy(from, to, workspaceId) {
      if (!existsSync(workspaceFolder(folder, from, workspaceId))) return
      mkdirSync(workspaceFolder(folder, to, workspaceId), { recursive: true })
      for (const day of daysIn(folder, from, workspaceId)) {
        const source = fileOf(from, { workspaceId, day })
        const target = fileOf(to, { workspaceId, day })
        rmSync(target, { force: true })
        // Its day may be dropped, or its workspace erased, while those before it are copied.
        ifThere(source, () => copyFile(source, target))
      }
      // Who opens the build names the files that it finds: a power cut may take none of them after that.
      const copied = daysIn(folder, to, workspaceId).map((day) => fileOf(to, { workspaceId, day }))
      syncDatabases([], copied)
    },
    close: async () => {},
  }
}
