import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Checkpoint, IndexName, Progress } from '../../index-store.ts'
import type { Projection } from '../../projection.ts'
import { writtenOf, type Written } from '../row.ts'
import type { StoredEntry } from './read.ts'

export type Build = {
  collections: ReadonlyMap<string, Written>
  after: Position
  checkpoint: Checkpoint
  progress: Progress
  /** By workspace and collection, then by day and id. */
  stored: Map<string, Map<string, StoredEntry>>
  /** The position up to which each workspace was erased: late writes of earlier events are ignored. */
  erased: Map<WorkspaceId, Position>
}

export function openBuild(index: IndexName, projection: Projection, epoch: string, after: Position): Build {
  return {
    collections: writtenOf(projection),
    after,
    checkpoint: { epoch, position: after },
    progress: { index, after, position: after, head: after, at: 0, caughtUpAt: 0 },
    stored: new Map(),
    erased: new Map(),
  }
}
