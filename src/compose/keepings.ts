import {
  firstDayBy,
  withFirstDays,
  withOwnProgress,
  type FirstDay,
  type Keepings,
} from '#projections/retention/first-days.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { withOwnVersions } from '#projections/builds/own-versions.ts'
import { projections } from '#projections/registry.ts'
import { plans } from '#src/config.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import { keepingOf, longestKeeping } from '#src/directory/plans.ts'
import { createWorkspacePlans } from '#src/directory/workspace-plans.ts'
import type { PartitionOf } from '#src/events/partition.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Stream } from '#streams/stream.ts'

/** For a workspace that the directory does not know yet. */
const unknown = longestKeeping(plans)

/** How long records are kept, read from the directory's stream each time it is asked. */
export function createKeepings(directory: Pick<Stream, 'read'>): () => Promise<Keepings> {
  const workspacePlans = createWorkspacePlans(directory, plans)
  return async () => {
    const known = await workspacePlans.read()
    return { of: (id) => known.get(id) ?? unknown, all: known.size === 0 ? [unknown] : [...known.values()] }
  }
}

/** The first day that readers of a workspace see, by a directory that is opened and closed for this question. */
export async function readFirstDays(openDirectory: () => Promise<Stream>, clock: Clock): Promise<FirstDay> {
  const directory = await openDirectory()
  try {
    const { of } = await createKeepings(directory)()
    return firstDayBy(projections, of, clock)
  } finally {
    await directory.close()
  }
}

/**
 * Readers for requests: they show what the plan of the workspace keeps, and say so where a build is of another version. A reader shows the
 * same days throughout, also when midnight passes: an export would lose its oldest day on the way. What expires then stays stored for one day
 * more (daysNeeded).
 */
export function retainedReaders(
  readerOf: PartitionOf<IndexReader>,
  directory: Pick<Directory, 'workspace'>,
  clock: Clock,
): PartitionOf<IndexReader> {
  return (workspaceId) => {
    const workspace = directory.workspace(workspaceId)
    const [keeping, now] = [workspace === undefined ? unknown : keepingOf(workspace), clock()]
    const firstDay = firstDayBy(
      projections,
      () => keeping,
      () => now,
    )
    const shown = withFirstDays(readerOf(workspaceId), firstDay)
    return withOwnVersions(withOwnProgress(shown, workspaceId, firstDay), projections)
  }
}
