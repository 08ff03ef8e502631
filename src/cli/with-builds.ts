import { projectionOfBuild } from '#projections/rosters/build-name.ts'
import type { Projection } from '#projections/projection.ts'
import { partitionNumber } from '#src/events/partition.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { nearest } from '#src/lib/nearest.ts'
import type { OpenBuilds } from './services.ts'
import { UsageError, type VerbContext } from './verb.ts'

/** Does it once, with the builds of all partitions, in their order. */
export async function withAllBuilds<T>(
  { services, dataFolder }: VerbContext,
  task: (partitions: readonly OpenBuilds[]) => Promise<T>,
): Promise<T> {
  const partitions = await services.openBuilds(dataFolder)
  try {
    return await task(partitions)
  } finally {
    await Promise.all(partitions.map((builds) => builds.close()))
  }
}

/**
 * Does it for the builds of each partition, in their order, or only for the partition that a workspace is in. `check`: done for all of these first; what
 * it refuses in one begins in none.
 */
export const withBuilds = <T>(
  context: VerbContext,
  task: (builds: OpenBuilds) => Promise<T>,
  workspaceId?: WorkspaceId,
  check?: (builds: OpenBuilds) => Promise<unknown>,
): Promise<readonly T[]> =>
  withAllBuilds(context, async (partitions) => {
    const one = workspaceId === undefined ? undefined : partitionNumber(workspaceId, partitions.length)
    const chosen = partitions.filter((_, partition) => one === undefined || one === partition)
    if (check !== undefined) for (const builds of chosen) await check(builds)
    const done: T[] = []
    for (const builds of chosen) done.push(await task(builds))
    return done
  })

/** The projections that a name or `all` means. */
export function projectionsNamed({ projections }: OpenBuilds, name: string): readonly Projection[] {
  if (name === 'all') return projections
  const found = projections.find((projection) => projection.name === name)
  if (found !== undefined) return [found]
  const known = [...projections.map((projection) => projection.name), 'all']
  const meant = nearest(name, known)
  const hint = meant === undefined ? `known: ${known.join(', ')}` : `did you mean ${meant}?`
  throw new UsageError(`there is no projection ${JSON.stringify(name)}; ${hint}`)
}

/** The projection of a build, by the build's name. */
export function projectionOf({ projections }: OpenBuilds, index: string): Projection {
  const found = projectionOfBuild(projections, index)
  if (found === undefined)
    throw new UsageError(`${JSON.stringify(index)} is no name of a build; see throughline builds`)
  return found
}
