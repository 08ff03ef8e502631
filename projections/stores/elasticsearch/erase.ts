import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName } from '../../index-store.ts'
import type { Place } from './builds.ts'
import { writeAll, type Operation } from './bulk.ts'
import { ofWorkspace } from './filter.ts'
import { freezeBuild } from './frozen-build.ts'
import type { Freshness } from './refresh.ts'
import type { StoredText } from './stored-text.ts'

/** An open build. */
type ErasedFrom = Readonly<{ index: IndexName; epoch: string; freshness: Freshness }>

const erasedAtOnce = 1_000

/**
 * Deletes a workspace's documents, each by its erasure's position as version: a write of an earlier event that comes late finds itself
 * outdated. Those that later events were folded into are newer, and stay.
 */
export async function eraseDocuments(
  place: Place,
  build: ErasedFrom,
  { workspaceId, position }: Readonly<{ workspaceId: WorkspaceId; position: Position }>,
): Promise<void> {
  const { elasticsearch } = place
  // An index that is gone holds nothing of it.
  const write = (operations: readonly Operation[]): Promise<void> =>
    writeAll({ elasticsearch, epoch: build.epoch, restore: async () => {} }, operations)
  const frozen = await freezeBuild(place, build.index)
  try {
    for (const index of frozen.indices) {
      let operations: Operation[] = []
      const erase = async ({ key, version }: StoredText): Promise<void> => {
        if (version > position) return
        operations.push({ kind: 'delete', index, key, workspaceId, position, document: '' })
        build.freshness.wrote(index)
        if (operations.length < erasedAtOnce) return
        await write(operations)
        operations = []
      }
      // What is deleted twice is gone already.
      await frozen.visit(index, ofWorkspace(workspaceId), () => erase)
      await write(operations)
    }
  } finally {
    await frozen.release()
  }
  await build.freshness.refreshNow()
}
