import type { IndexName } from '../index-store.ts'
import type { Projection } from '../projection.ts'

/** `logs-v3-002`: the second build of version 3 of the projection. */
export const buildName = ({ name, version }: Projection, build: number): IndexName =>
  `${name}-v${version}-${build.toString().padStart(3, '0')}`

/** The number of a build of this projection and version; undefined for any other name. */
export function buildNumber({ name, version }: Projection, index: IndexName): number | undefined {
  const prefix = `${name}-v${version}-`
  const digits = index.startsWith(prefix) ? /^\d{3,}$/.exec(index.slice(prefix.length))?.[0] : undefined
  return digits === undefined ? undefined : Number(digits)
}

/** The projection that a build is of; undefined if it is none of these. */
export const projectionOfBuild = (projections: readonly Projection[], index: IndexName): Projection | undefined =>
  projections.find(({ name }) => index.startsWith(`${name}-v`))

/** The version of a build; 0 where this is no build's name. */
export const buildVersion = (index: IndexName): number => Number(/-v(\d+)-\d+$/.exec(index)?.[1] ?? 0)

/** Whether a build was made before another of its projection: of an earlier version, or of the same one with a lower number. */
export function isMadeBefore(index: IndexName, other: IndexName): boolean {
  const numberOf = (name: IndexName): number => Number(/-(\d+)$/.exec(name)?.[1] ?? 0)
  const versions = buildVersion(index) - buildVersion(other)
  return (versions === 0 ? numberOf(index) - numberOf(other) : versions) < 0
}

/** Whether a build is of the same projection and version as another, and was not made after it. */
export function isUpTo(index: IndexName, other: IndexName): boolean {
  const [end, otherEnd] = [index.lastIndexOf('-') + 1, other.lastIndexOf('-') + 1]
  return index.slice(0, end) === other.slice(0, otherEnd) && Number(index.slice(end)) <= Number(other.slice(otherEnd))
}
