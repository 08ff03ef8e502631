import { projectionOfBuild } from '#projections/rosters/build-name.ts'
import type { IndexAudit } from '#projections/index-audit.ts'
import { projections } from '#projections/registry.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createExpectedAudit } from '#projections/stores/elasticsearch/expected.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'

/**
 * What a folder of index files holds. `all`: an index as it is served. The others hold what an index is compared with: `sums`, of one in files, with
 * sums in place of its postings; `entries`, of one in Elasticsearch, its entries alone, folded from the log of that epoch.
 */
export type FilesForm = Readonly<{ keeps: 'all' } | { keeps: 'sums' } | { keeps: 'entries'; clusterEpoch: string }>
/** Files that are read whole; plain data, which a thread can be given. */
export type FilesPlace = FilesForm & Readonly<{ folder: string }>

function projectionOf(index: string) {
  const found = projectionOfBuild(projections, index)
  return found && withSeenEvents(found)
}

/** Reads them in the form in which the index is. */
export function createFilesAudit(place: FilesPlace): IndexAudit {
  const { folder } = place
  if (place.keeps === 'sums') return createSqliteIndexAudit({ folder, summed: projectionOf })
  const audit = createSqliteIndexAudit({ folder })
  return place.keeps === 'all' ? audit : createExpectedAudit(audit, projectionOf, place.clusterEpoch)
}
