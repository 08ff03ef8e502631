import { projectionOfBuild } from '#projections/builds/build-name.ts'
import type { IndexAudit } from '#projections/index-audit.ts'
import { projections } from '#projections/registry.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createExpectedAudit } from '#projections/stores/elasticsearch/expected.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'

/**
 * Files that an index is compared with; plain data, which a thread can be given. `clusterEpoch`: of the log whose indexes are in
 * Elasticsearch, else those are files too.
 */
export type ScratchPlace = Readonly<{ folder: string; clusterEpoch?: string }>

function projectionOf(index: string) {
  const found = projectionOfBuild(projections, index)
  return found && withSeenEvents(found)
}

/** Reads them in the form in which the index is. */
export function createScratchAudit({ folder, clusterEpoch }: ScratchPlace): IndexAudit {
  if (clusterEpoch === undefined) return createSqliteIndexAudit({ folder, summed: projectionOf })
  return createExpectedAudit(createSqliteIndexAudit({ folder }), projectionOf, clusterEpoch)
}
