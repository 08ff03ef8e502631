import { projectionOfBuild } from '#projections/rosters/build-name.ts'
import type { Projection } from '#projections/projection.ts'
import { partitionNumber } from '#src/events/partition.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { isOperatingFailure, PermanentError, TransientError } from '#src/lib/failure.ts'
import { nearest } from '#src/lib/nearest.ts'
import type { OpenBuilds } from './services.ts'
import type { Place } from './show-verdict.ts'
import { UsageError, type VerbContext } from './verb.ts'

/** Runs a task once, with the builds of all partitions in their order. */
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

/** A failure that names its partition: builds of different partitions have the same names. */
function placed(error: unknown, { stream: { partition } }: OpenBuilds): unknown {
  if (!isOperatingFailure(error)) return error
  const isSaid = error.message.match(/\bpartition \w+/g)?.includes(`partition ${partition}`) === true
  if (isSaid) return error
  const context = { operation: `in partition ${partition}`, subject: '', cause: error }
  return error instanceof TransientError ? new TransientError(context) : new PermanentError(context)
}

/** Runs a task in one of the partitions; if there are several, a failure names it. */
export const inPartition = <T>(
  partitions: readonly OpenBuilds[],
  builds: OpenBuilds,
  task: (builds: OpenBuilds) => Promise<T>,
): Promise<T> =>
  task(builds).catch((error: unknown) => {
    throw partitions.length > 1 ? placed(error, builds) : error
  })

type Choice = Readonly<{
  /** Only the partition that holds it. */
  workspaceId?: WorkspaceId | undefined
  /** Called with the names of the chosen partitions; throws to refuse them. */
  checkChosen?: (partitions: readonly string[]) => void
  /** Run in each chosen partition before the task begins in any; throws to refuse. */
  check?: (builds: OpenBuilds) => Promise<unknown>
}>

/** Runs a task with the builds of each partition, in their order, or of those that are chosen. */
export const withBuilds = <T>(
  context: VerbContext,
  task: (builds: OpenBuilds, place: Place) => Promise<T>,
  { workspaceId, checkChosen, check }: Choice = {},
): Promise<readonly T[]> =>
  withAllBuilds(context, async (partitions) => {
    const one = workspaceId === undefined ? undefined : partitionNumber(workspaceId, partitions.length)
    const chosen = partitions.filter((_, partition) => one === undefined || one === partition)
    checkChosen?.(chosen.map(({ stream }) => stream.partition))
    if (check !== undefined) for (const builds of chosen) await inPartition(partitions, builds, check)
    const done: T[] = []
    for (const builds of chosen) {
      const place = { partition: builds.stream.partition, isOneOfMany: chosen.length > 1 }
      done.push(await inPartition(partitions, builds, (each) => task(each, place)))
    }
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
