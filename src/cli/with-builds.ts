import { projectionOfBuild } from '#projections/builds/build-name.ts'
import type { Projection } from '#projections/projection.ts'
import { partitionNumber } from '#src/events/partition.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { nearest } from '#src/lib/nearest.ts'
import { optional, unknownWorkspace, UsageError, type Given, type OpenBuilds, type VerbContext } from './verb.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { Refused } from '#src/directory/directory-writer.ts'

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

/** Does it for the builds of each partition, in their order, or only for the partition that a workspace is in. */
export const withBuilds = <T>(
  context: VerbContext,
  task: (builds: OpenBuilds, partition: string) => Promise<T>,
  workspaceId?: WorkspaceId,
): Promise<readonly T[]> =>
  withAllBuilds(context, async (partitions) => {
    const done: T[] = []
    const one = workspaceId === undefined ? undefined : partitionNumber(workspaceId, partitions.length)
    for (const [partition, builds] of partitions.entries()) {
      if (one === undefined || one === partition) done.push(await task(builds, String(partition)))
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

/** A workspace by name or id, by its id also one that was erased; undefined when there is none. */
export async function workspaceNamed(context: VerbContext, name: string): Promise<WorkspaceId | undefined> {
  const directory = await context.directory()
  return directory.workspaceNamed(name)?.id ?? directory.erasedWorkspaces().find(({ id }) => id === name)?.id
}

/** The workspace that `--workspace` names, by `find`; undefined when it is not given. */
export async function workspaceOption(
  given: VerbContext,
  find = workspaceNamed,
): Promise<Result<WorkspaceId | undefined, Refused>> {
  const name = optional(given, 'workspace')
  const id = name === undefined ? undefined : await find(given, name)
  return name !== undefined && id === undefined ? unknownWorkspace(name) : ok(id)
}

/** A place in the log: as acknowledgements show it, `0/4096`, of one partition; without the partition, `4096`, of each. */
export type Place = Readonly<{ partition: string | undefined; position: number }>

/** Undefined when the text is no place. */
export function placeOf(text: string): Place | undefined {
  const [, partition, digits] = /^(?:(\d+)\/)?(\d{1,15})$/.exec(text) ?? []
  return digits === undefined ? undefined : { partition, position: Number(digits) }
}

/** Whether a place says something of a partition. */
export const isOf = ({ partition }: Place, other: string | undefined): boolean =>
  partition === undefined || partition === other

export function placeOption(given: Given, name: string): Place | undefined {
  const text = optional(given, name)
  if (text === undefined) return undefined
  const place = placeOf(text)
  if (place === undefined) throw new UsageError(`--${name} is a position, such as 0/4096`)
  return place
}

/** A positive number. */
export function numberOption(given: Given, name: string, max: number): number | undefined {
  const text = optional(given, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0 || value > max) {
    throw new UsageError(`--${name} is a number above 0${max === Number.MAX_VALUE ? '' : `, at most ${max}`}`)
  }
  return value
}
