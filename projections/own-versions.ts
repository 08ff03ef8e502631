import { buildVersion } from './build-name.ts'
import type { IndexReader } from './index-store.ts'
import type { Projection } from './projection.ts'

/**
 * A reader that says which builds are of another version than this program's: an upgrade moves readers at another moment than it replaces
 * the programs that read, and what one version writes another may not find.
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
