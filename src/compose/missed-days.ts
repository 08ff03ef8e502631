import { projections } from '#projections/registry.ts'
import { storedBuilds } from '#projections/stores/sqlite/build-folders.ts'
import { missedDays } from '#projections/stores/sqlite/known-days.ts'
import { foldersOf } from './folders.ts'

function tellOf(indexFolder: string, projection: string): void {
  for (const { index } of storedBuilds(indexFolder, projection)) {
    const missed = missedDays(indexFolder, index)
    const [first] = missed
    if (first === undefined) continue
    const workspaces = new Set(missed.map(({ workspaceId }) => workspaceId)).size
    console.error(
      `files of the index ${index} are gone: ${missed.length} (a day of a workspace each, of ${workspaces} workspaces), such as ` +
        `${indexFolder}/${index}/${first.workspaceId}/${first.day}.db; "throughline rebuild ${projection}" folds them again from the log`,
    )
  }
}

/** Tells the operator of each build of which files are gone. Answers that may lack something of it say so themselves. */
export function tellMissedDays(dataFolder: string): void {
  const { indexFolder } = foldersOf(dataFolder)
  for (const { name } of projections) {
    try {
      tellOf(indexFolder, name)
    } catch {
      // An index that cannot be read, as one of a newer program, keeps no server from starting: who folds it says so.
    }
  }
}
