import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexAudit, Part } from '../../index-audit.ts'
import type { IndexName } from '../../index-store.ts'
import { namesIn, workspacesIn } from './build-folders.ts'
import { openDatabaseToAudit } from './database.ts'
import { freezeFile } from './frozen-part.ts'
import { dayOfFile, tablesOf, workspaceFolder, type Tables } from './layout.ts'
import { openMetaToRead, readMeta } from './meta.ts'

/** None where the workspace was erased meanwhile. */
const daysOf = (folder: string, index: IndexName, workspaceId: WorkspaceId): readonly string[] =>
  namesIn(workspaceFolder(folder, index, workspaceId)).flatMap((name) => dayOfFile(name) ?? [])

function collectionsOf(folder: string, index: IndexName): readonly Tables[] {
  const database = openMetaToRead(folder, index)
  const meta = database && readMeta(database)
  database?.close()
  return Object.values(meta?.shapes ?? {}).map(tablesOf)
}

/** Reads the builds in a folder of SQLite files whole. It blocks while it works. */
export function createSqliteIndexAudit({ folder }: Readonly<{ folder: string }>): IndexAudit {
  const fileOf = (index: IndexName, { workspaceId, day }: Part): string =>
    join(workspaceFolder(folder, index, workspaceId), `${day}.db`)
  return {
    parts: async (index) =>
      workspacesIn(folder, index).flatMap((workspaceId) =>
        daysOf(folder, index, workspaceId).map((day) => ({ workspaceId, day })),
      ),
    hold: async () => ({ release: async () => {} }),
    freeze: async (index, part) => {
      const file = { path: fileOf(index, part), day: part.day }
      return freezeFile(file, collectionsOf(folder, index), openDatabaseToAudit)
    },
    async copy(from, to, workspaceId) {
      if (!existsSync(workspaceFolder(folder, from, workspaceId))) return
      mkdirSync(workspaceFolder(folder, to, workspaceId), { recursive: true })
      for (const day of daysOf(folder, from, workspaceId)) {
        const target = fileOf(to, { workspaceId, day })
        rmSync(target, { force: true })
        const database = openDatabaseToAudit(fileOf(from, { workspaceId, day }))
        // A copy of one moment, made without stopping the writer.
        database.run('VACUUM INTO ?', target)
        database.close()
      }
    },
    close: async () => {},
  }
}
