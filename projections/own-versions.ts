import { buildVersion } from './build-name.ts'
import type { IndexReader } from './index-store.ts'
import type { Projection } from './projection.ts'

/**
 * A reader that marks builds of another version than this program's. An upgrade does not move readers and replace programs at the same moment,
 * and one version may not find what another has written.
 */
export function withOwnVersions(reader: IndexReader, projections: readonly Projection[]): IndexReader {
  const versions = new Map(projections.map(({ name, version }) => [name, version]))
  return {
    ...reader,
    async progress(name) {
      const progress = await reader.progress(name)
      if (progress === undefined || buildVersion(name, progress.index) === versions.get(name)) return progress
      return { ...progress, isOfAnotherVersion: true }
    },
  }
}
