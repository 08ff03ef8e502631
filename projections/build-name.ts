import type { IndexName, IndexWriter } from './index-store.ts'
import type { Projection } from './projection.ts'

/** `logs-v3-002`: the second build of version 3 of the projection. */
export const buildName = ({ name, version }: Projection, build: number): IndexName =>
  `${name}-v${version}-${build.toString().padStart(3, '0')}`

/** The number of a build of this projection and version; undefined for any other name. */
export function buildNumber({ name, version }: Projection, index: IndexName): number | undefined {
  const prefix = `${name}-v${version}-`
  const digits = index.startsWith(prefix) ? /^\d{3,}$/.exec(index.slice(prefix.length))?.[0] : undefined
  return digits === undefined ? undefined : Number(digits)
}

/**
 * The build to fold a log into: the live one where it is of this version and this log, else the next that is, or is not there.
 * A build of another log (recreated, or moved) is left as it is.
 */
export async function chooseBuild(writer: IndexWriter, projection: Projection, epoch: string): Promise<IndexName> {
  const live = await writer.live(projection.name)
  for (let build = (live === undefined ? undefined : buildNumber(projection, live)) ?? 1; ; build++) {
    const index = buildName(projection, build)
    const checkpoint = await writer.checkpoint(index)
    if (checkpoint.epoch === '' || checkpoint.epoch === epoch) return index
  }
}
