import { readdirSync, statSync } from 'node:fs'
import { TransientError } from '#src/lib/failure.ts'

const foldersKnownMax = 1_000
/** File systems record times of changes in milliseconds, some in steps of two seconds. A folder that has just changed may change again unseen. */
const settledMs = 3_000

type Listing = Readonly<{ names: readonly string[]; changedMs: number }>

/** Looks into a folder; nothing if it does not exist. Too many open files is a TransientError, because it passes by itself. */
export function looked<T>(folder: string, look: (folder: string) => readonly T[]): readonly T[] {
  try {
    return look(folder)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    if (code !== 'EMFILE' && code !== 'ENFILE') throw cause
    const hint = 'this process, or this machine, may open too few files (ulimit -n)'
    throw new TransientError({ operation: 'look into', subject: folder, cause, hint })
  }
}

/** The names in a folder; none if it does not exist. */
export const namesIn = (folder: string): readonly string[] => looked(folder, (path) => readdirSync(path))

/** As `namesIn`, cached while the folder's time of change stays the same: asking for that costs a fifth of reading the folder, and days rarely come or go. */
export function createFolderNames(): (folder: string) => readonly string[] {
  const known = new Map<string, Listing>()
  return (folder) => {
    const changedMs = statSync(folder, { throwIfNoEntry: false })?.mtimeMs
    if (changedMs === undefined) return []
    const listing = known.get(folder)
    if (listing?.changedMs === changedMs) return listing.names
    const names = namesIn(folder)
    if (known.size >= foldersKnownMax) known.clear()
    if (Date.now() - changedMs > settledMs) known.set(folder, { names, changedMs })
    return names
  }
}
