import { projectionOfBuild } from '#projections/rosters/build-name.ts'
import type { Projection } from '#projections/projection.ts'
import { partitionNumber } from '#src/events/partition.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { isOperatingFailure, PermanentError, TransientError } from '#src/lib/failure.ts'
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

/** A failure in one of several partitions, which have builds of the same names: it says in which. */
function placed(error: unknown, { stream: { partition } }: OpenBuilds): unknown {
  if (!isOperatingFailure(error) || error.message.includes(`partition ${partition}`)) return error
  const context = { operation: `in partition ${partition}`, subject: '', cause: error }
  return error instanceof TransientError ? new TransientError(context) : new PermanentError(context)
}

/** Does it in one of the partitions; where there are several, a failure names it. */
export const inPartition = <T>(
  partitions: readonly OpenBuilds[],
  builds: OpenBuilds,
  task: (builds: OpenBuilds) => Promise<T>,
): Promise<T> =>
  task(builds).catch((error: unknown) => {
    throw partitions.length > 1 ? placed(error, builds) : error
  })

/**
 * Does it for the builds of each partition, in their order, or only for the partition that a workspace is in. `check`: done for all of these first; what
 * it refuses in one begins in none.
 */
export const withBuilds = <T>(
  context: VerbContext,
  task: (builds: OpenBuilds, chosen: readonly OpenBuilds[]) => Promise<T>,
  workspaceId?: WorkspaceId,
  check?: (builds: OpenBuilds, chosen: readonly OpenBuilds[]) => Promise<unknown>,
): Promise<readonly T[]> =>
  withAllBuilds(context, async (partitions) => {
    const one = workspaceId === undefined ? undefined : partitionNumber(workspaceId, partitions.length)
    const chosen = partitions.filter((_, partition) => one === undefined || one === partition)
    if (check !== undefined)
      for (const builds of chosen) await inPartition(partitions, builds, (each) => check(each, chosen))
    const done: T[] = []
    for (const builds of chosen) done.push(await inPartition(partitions, builds, (each) => task(each, chosen)))
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
