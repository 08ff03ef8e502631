import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { IndexAudit, Part } from '../../index-audit.ts'
import type { IndexName } from '../../index-store.ts'
import { daysIn } from './build-folders.ts'
import { openDatabaseToAudit } from './database.ts'
import { freezeFile } from './frozen-part.ts'
import { storedDays } from './known-days.ts'
import { fileOfDay, tablesOf, workspaceFolder, type Tables } from './layout.ts'
import { openMetaToRead, readMeta } from './meta.ts'

function collectionsOf(folder: string, index: IndexName): readonly Tables[] {
  const database = openMetaToRead(folder, index)
  const meta = database && readMeta(database)
  database?.close()
  return Object.values(meta?.shapes ?? {}).map(tablesOf)
}

/** Reads the builds in a folder of SQLite files whole. It blocks while it works. */
export function createSqliteIndexAudit({ folder }: Readonly<{ folder: string }>): IndexAudit {
  const fileOf = (index: IndexName, { workspaceId, day }: Part): string =>
    join(workspaceFolder(folder, index, workspaceId), fileOfDay(day))
  return {
    parts: async (index) => storedDays(folder, index),
    hold: async () => ({ release: async () => {} }),
    freeze: async (index, part) => {
      const file = { path: fileOf(index, part), day: part.day }
      return freezeFile(file, collectionsOf(folder, index), openDatabaseToAudit)
    },
    async copy(from, to, workspaceId) {
      if (!existsSync(workspaceFolder(folder, from, workspaceId))) return
      mkdirSync(workspaceFolder(folder, to, workspaceId), { recursive: true })
      for (const day of daysIn(folder, from, workspaceId)) {
        const [source, target] = [from, to].map((index) => fileOf(index, { workspaceId, day })) as [string, string]
        rmSync(target, { force: true })
        // Its day was dropped, or its workspace erased, while those before it were copied.
        if (!existsSync(source)) continue
        const database = openDatabaseToAudit(source)
        try {
          // A copy of one moment, made without stopping the writer.
          database.run('VACUUM INTO ?', target)
        } finally {
          database.close()
        }
      }
    },
    close: async () => {},
  }
}
