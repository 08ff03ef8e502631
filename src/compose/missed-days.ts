import type { IndexName, LostDay } from '#projections/index-store.ts'
import { projectionNames } from '#projections/names.ts'
import { missedDays } from '#projections/stores/sqlite/known-days.ts'
import { storedLiveBuilds, type LiveRevision } from '#projections/stores/sqlite/rosters.ts'
import { foldersOf } from './folders.ts'

/** An unreadable index, such as a newer program's, does not prevent a start: whoever folds it reports it. */
function readable<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}

function tell(indexFolder: string, index: IndexName, projection: string, missed: readonly LostDay[]): void {
  const [first] = missed
  if (first === undefined) return
  const workspaces = new Set(missed.map(({ workspaceId }) => workspaceId)).size
  console.error(
    `files of the index ${index} are gone: ${missed.length} (a day of a workspace each, of ${workspaces} workspace${workspaces === 1 ? '' : 's'}), such as ` +
      `${indexFolder}/${index}/${first.workspaceId}/${first.day}.db; "throughline rebuild ${projection}" folds them again from the log`,
  )
}

/**
 * Tells the operator of each index in use whose files are missing, except one that a rebuild has replaced. Answers that may be incomplete
 * because of it say so themselves.
 */
export function tellMissedDays(dataFolder: string): void {
  const { indexFolder } = foldersOf(dataFolder)
  const live = readable(() => storedLiveBuilds(indexFolder), new Map<string, LiveRevision>())
  for (const name of projectionNames) {
    const index = live.get(name)?.index
    if (index === undefined) continue
    const missed = readable(() => missedDays(indexFolder, index), [])
    tell(indexFolder, index, name, missed)
  }
}
