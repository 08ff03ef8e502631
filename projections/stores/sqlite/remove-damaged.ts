import { rmSync } from 'node:fs'
import type { PermanentError } from '#src/lib/failure.ts'
import { isBuildOf } from '../builds.ts'
import { dropBuild } from './build-folders.ts'
import { isDamage, readIfThere, type Database } from './database.ts'
import { namesIn } from './folder-names.ts'
import { layoutOf, livePath, metaPath } from './layout.ts'
import { readRoster } from './live.ts'
import { readMeta } from './meta.ts'
import { syncFolder } from './sync-files.ts'

/**
 * What is wrong with a file; undefined where `read` can read it, or where it is no damage that keeps it from being read. All of its pages
 * are looked at, for it is small: whoever met one later that is damaged could only stop, at every start again.
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
    // Of the JSON that is in it: the pages are whole, what they say is not.
    return error instanceof SyntaxError ? String(error) : undefined
  }
}

/**
 * Removes the builds whose record is damaged, of which nobody could read or fold anything, and the list of the builds that readers use
 * where that is: whoever folds the log next makes them again. A damaged file of a day is not looked for. To be called while
 * nobody has the folder open.
 */
export function removeDamaged(folder: string, projections: readonly string[], tell: (line: string) => void): void {
  const isBuild = (name: string): boolean => projections.some((projection) => isBuildOf(projection, name))
  for (const index of namesIn(folder).filter(isBuild)) {
    const damage = damageOf(metaPath(folder, index), readMeta)
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
  syncFolder(folder)
}
