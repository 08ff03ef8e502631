import { readdirSync, statSync } from 'node:fs'

const foldersKnownMax = 1_000
/** File systems tell the times of changes apart by milliseconds, some by two seconds: what has changed just now may change unseen. */
const settledMs = 3_000

type Listing = Readonly<{ names: readonly string[]; changedMs: number }>

/** What is in a folder now; nothing when it is not there. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

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
