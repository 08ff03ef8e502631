import { PermanentError } from '#src/lib/failure.ts'
import type { IndexName, IndexReader } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import { buildVersion } from '../rosters/build-name.ts'
import type { BuildContext } from './build-place.ts'

type Versioned = Pick<Projection, 'name' | 'version'>
type Build = Readonly<{ projection: string; index: IndexName }>

/** Whether this program folds builds of that version. */
export const isOwn = (projections: readonly Versioned[], { projection, index }: Build): boolean =>
  projections.some(({ name, version }) => name === projection && version === buildVersion(index))

/**
 * A reader that marks builds of another version than this program's. An upgrade does not move readers and replace programs at the same moment,
 * and one version may not find what another has written.
 */
export function withOwnVersions<Reader extends Pick<IndexReader, 'progress'>>(
  reader: Reader,
  projections: readonly Versioned[],
): Reader {
  return {
    ...reader,
    async progress(name) {
      const progress = await reader.progress(name)
      if (progress === undefined || isOwn(projections, { projection: name, index: progress.index })) return progress
      return { ...progress, isOfAnotherVersion: true }
    },
  }
}

/**
 * Throws PermanentError where a build is of another version than this program's, as until an upgrade has folded it anew: a fold of this version
 * differs from it by what has changed between the two, and says nothing of what is wrong in it.
 */
export function refuseOtherVersions(
  { projections, stream }: Pick<BuildContext, 'projections' | 'stream'>,
  builds: readonly Build[],
): void {
  const others = builds.filter((build) => !isOwn(projections, build))
  if (others.length === 0) return
  const versions = others.map(({ projection }) => projections.find(({ name }) => name === projection))
  const own = versions.map((of) => `${of?.name ?? 'none'} v${of?.version ?? 0}`).join(', ')
  const hint = `this program folds ${own}: it has nothing to compare with; once readers use builds of these (see throughline builds), verify again`
  const subject = `${others.map(({ index }) => index).join(', ')} of partition ${stream.partition}`
  throw new PermanentError({ operation: 'verify', subject, hint })
}
