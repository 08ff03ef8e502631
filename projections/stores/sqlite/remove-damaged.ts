import { rmSync } from 'node:fs'
import type { PermanentError } from '#src/lib/failure.ts'
import { isBuildOf } from '../../index-store.ts'
import { dropBuild } from './build-folders.ts'
import type { Database } from './database.ts'
import { readIfThere } from './if-there.ts'
import { isDamage } from './failure.ts'
import { namesIn } from './folder-names.ts'
import { layoutOf } from './layout.ts'
import { livePath, metaPath } from './paths.ts'
import { readRoster } from './rosters.ts'
import { readBuildRecord } from './build-record.ts'
import { syncIfThere } from './sync-files.ts'

/**
 * The damage of a file; undefined if `read` can read it, or fails for another reason. All pages of the file are checked, because it is small, and a
 * damaged page that is met later could only stop the process, at every start.
 */
function damageOf(path: string, read: (database: Database) => unknown): string | undefined {
  try {
    return readIfThere(path, (database) => {
      const [found] = Object.values(database.get('PRAGMA quick_check(1)') ?? {})
      if (found !== 'ok') return String(found)
      read(database)
      return undefined
    })
  } catch (error) {
    if (isDamage(error)) return String((error as PermanentError).cause)
    // Broken JSON: the pages are intact, their content is not.
    return error instanceof SyntaxError ? String(error) : undefined
  }
}

/**
 * Removes builds with a damaged record, which nobody could read or fold, and the file of rosters if it is damaged: the next projector makes them
 * again. Damaged files of days are not looked for. Nobody may have the folder open.
 */
export function removeDamaged(folder: string, projections: readonly string[], tell: (line: string) => void): void {
  const isBuild = (name: string): boolean => projections.some((projection) => isBuildOf(projection, name))
  for (const index of namesIn(folder).filter(isBuild)) {
    const damage = damageOf(metaPath(folder, index), readBuildRecord)
    if (damage === undefined) continue
    tell(
      `${metaPath(folder, index)} is damaged: the index ${index} is removed, and folded again from the log (${damage})`,
    )
    dropBuild(folder, index)
  }
  const live = livePath(folder)
  const damage = damageOf(live, (database) => {
    if (layoutOf(database) !== 0n) for (const projection of projections) readRoster(database, projection)
  })
  if (damage === undefined) return
  tell(`${live} is damaged: it is made again from the indexes that are there (${damage})`)
  for (const file of [`${live}-wal`, `${live}-shm`, live]) rmSync(file, { force: true })
  syncIfThere(folder)
}
