import type { IndexName } from '../../index-store.ts'
import { listBuildsBefore, noteErased, readErased, readRoster, type Erasure, type Place } from './builds.ts'
import { writeAll, type Operation } from './bulk.ts'
import { ofWorkspace } from './filter.ts'
import { freezeBuild } from './frozen-build.ts'
import type { Freshness } from './refresh.ts'
import type { StoredText } from './stored-text.ts'

type ErasedFrom = Readonly<{ index: IndexName; epoch: string; freshness: Freshness }>

const erasedAtOnce = 1_000

/**
 * Deletes a workspace's documents, each by its erasure's position as version: a write of an earlier event that comes late finds itself
 * outdated. Those that later events of its log were folded into are newer, and stay.
 */
async function eraseDocuments(
  place: Place,
  build: ErasedFrom,
  { workspaceId, position: erasedAt, epoch }: Erasure,
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
        if (build.epoch === epoch && version > erasedAt) return
        const position = Math.max(erasedAt, version + 1)
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

/**
 * Erases a workspace from a build; and from those of its projection that have not come to that and perhaps never will: one that its own
 * partition has dropped, or left and drops later, stays in the indices for as long as another partition uses its name. A rebuild may write to
 * its own what it had read by then, and be broken off: so that is noted, for when the build is dropped.
 */
export async function eraseFromBuilds(
  place: Place,
  build: ErasedFrom & Readonly<{ projection: string }>,
  { workspaceId, position }: Omit<Erasure, 'epoch'>,
  freshnessOf: (index: IndexName) => Freshness,
): Promise<void> {
  const { projection, index: mine, epoch } = build
  const erasure = { workspaceId, position, epoch }
  await eraseDocuments(place, build, erasure)
  const others = (await listBuildsBefore(place, projection, erasure)).filter(({ index }) => index !== mine)
  const { followed } = others.length === 0 ? { followed: [] } : await readRoster(place, projection)
  const building = new Set(followed.filter(({ as }) => as === 'building').map(({ index }) => index))
  for (const { index, epoch: its } of others) {
    if (building.has(index)) await noteErased(place, index, erasure)
    await eraseDocuments(place, { index, epoch: its, freshness: freshnessOf(index) }, erasure)
  }
}

/** Erases once more what was noted to be erased from a build, which goes now: its indices may stay, where another partition uses them. */
export async function eraseNoted(place: Place, index: IndexName, freshness: Freshness): Promise<void> {
  const { epoch, erased } = await readErased(place, index)
  for (const erasure of erased) await eraseDocuments(place, { index, epoch, freshness }, erasure)
}
