import { readdirSync, statSync } from 'node:fs'
import { TransientError } from '#src/lib/failure.ts'

const foldersKnownMax = 1_000
/** File systems tell the times of changes apart by milliseconds, some by two seconds: what has changed just now may change unseen. */
const settledMs = 3_000

type Listing = Readonly<{ names: readonly string[]; changedMs: number }>

/** What looks into a folder; nothing when it is not there. What passes by itself is tried again: whoever stops for it stops for good. */
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

/** What is in a folder now; nothing when it is not there. */
export const namesIn = (folder: string): readonly string[] => looked(folder, (path) => readdirSync(path))

/**
 * What folders hold; of one that is not there, nothing. To ask when a folder has changed costs a fifth of reading it, and days come
 * and go rarely, so what was read is kept while that time stands.
 */
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
