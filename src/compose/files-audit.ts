import { projectionOfBuild } from '#projections/rosters/build-name.ts'
import type { IndexAudit } from '#projections/index-audit.ts'
import { projections } from '#projections/registry.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createExpectedAudit } from '#projections/stores/elasticsearch/expected.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'

/**
 * What a folder of index files holds. `all`: an index as it is served. The others are made to compare an index with: `sums`, for an index in files,
 * has sums in place of the postings; `entries`, for an index in Elasticsearch, has only the entries, folded from the log of that epoch.
 */
export type FilesForm = Readonly<{ keeps: 'all' } | { keeps: 'sums' } | { keeps: 'entries'; clusterEpoch: string }>
/** Such a folder. Plain data, which can be passed to a thread. */
export type FilesPlace = FilesForm & Readonly<{ folder: string }>

function projectionOf(index: string) {
  const found = projectionOfBuild(projections, index)
  return found && withSeenEvents(found)
}

/** Reads the folder in the form of the index that it is compared with. */
export function createFilesAudit(place: FilesPlace): IndexAudit {
  const { folder } = place
  if (place.keeps === 'sums') return createSqliteIndexAudit({ folder, summed: projectionOf })
  const audit = createSqliteIndexAudit({ folder })
  return place.keeps === 'all' ? audit : createExpectedAudit(audit, projectionOf, place.clusterEpoch)
}
