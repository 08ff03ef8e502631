import { projectionNames } from '#projections/names.ts'
import { storedBuilds, workspacesIn } from '#projections/stores/sqlite/build-folders.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import { isOfTenant, type WorkspaceId } from '#src/events/workspace-id.ts'
import type { Folders } from './folders.ts'

const namedMax = 5

/**
 * The workspaces that a projection's builds hold. Folders with other names are left out, such as a copy that somebody put there. None if the index
 * cannot be read: whoever folds it reports that.
 */
function workspacesOf(indexFolder: string, projection: string): readonly WorkspaceId[] {
  try {
    return storedBuilds(indexFolder, projection).flatMap(({ index }) =>
      workspacesIn(indexFolder, index).filter(isOfTenant),
    )
  } catch {
    return []
  }
}

/**
 * Tells the operator of workspaces that the indexes hold and the directory has never heard of. It then ends before the log does, as an
 * older copy or one without its WAL, and looks sound. Their senders are refused for good.
 */
export function tellUnknownWorkspaces(
  folders: Folders,
  directory: Pick<Directory, 'workspaces' | 'erasedWorkspaces'>,
  tell: (text: string) => void = console.error,
): void {
  const known = new Set([...directory.workspaces(), ...directory.erasedWorkspaces()].map(({ id }) => id))
  const stored = new Set(projectionNames.flatMap((name) => workspacesOf(folders.indexFolder, name)))
  const unknown = [...stored].filter((id) => !known.has(id)).sort()
  if (unknown.length === 0) return
  const more = unknown.length > namedMax ? `, … (${unknown.length} of them)` : ''
  tell(
    [
      `The directory has lost its end: the log holds workspaces that it does not know: ${unknown.slice(0, namedMax).join(', ')}${more}.`,
      `  since then: their keys are refused for good (401), nobody can read them, and what else was changed is not in force either`,
      `  to do:    stop this server and their senders, and put back a newer ${folders.directory.file}, with its -wal; if there is none, check keys,`,
      `            members and workspaces, and send what was theirs to a new one: throughline replay --workspace ID --to-url URL`,
    ].join('\n'),
  )
}
