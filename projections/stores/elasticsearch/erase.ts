import type { IndexName } from '../../index-store.ts'
import type { Place } from './build-record.ts'
import { listBuildsBefore, noteErased, readErased, readRoster, type Erasure } from './builds.ts'
import { createWriteBuffer, writeAll } from './bulk.ts'
import { ofWorkspace } from './filter.ts'
import { freezeBuild } from './frozen-build.ts'
import type { Freshness } from './refresh.ts'
import type { StoredText } from './stored-text.ts'

type ErasedFrom = Readonly<{ index: IndexName; epoch: string; freshness: Freshness }>

/**
 * Deletes a workspace's documents, with the erasure's position as version, so that a late write of an earlier event is outdated. Documents with later
 * events of the same log are newer, and stay.
 */
async function eraseDocuments(
  place: Place,
  build: ErasedFrom,
  { workspaceId, position: erasedAt, epoch }: Erasure,
): Promise<void> {
  const { elasticsearch } = place
  // A missing index holds nothing, so it is not created again.
  const { add, flush } = createWriteBuffer((operations) =>
    writeAll({ elasticsearch, epoch: build.epoch, restore: async () => {} }, operations),
  )
  const frozen = await freezeBuild(place, build.index)
  try {
    for (const index of frozen.indices) {
      const erase = async ({ key, version }: StoredText): Promise<void> => {
        if (build.epoch === epoch && version > erasedAt) return
        const position = Math.max(erasedAt, version + 1)
        build.freshness.wrote(index)
        await add({ kind: 'delete', index, key, workspaceId, position, document: '' })
      }
      // Deleting a document twice does no harm.
      await frozen.visit(index, ofWorkspace(workspaceId), () => erase, 'places')
      await flush()
    }
  } finally {
    await frozen.release()
  }
  await build.freshness.refreshNow()
}

/**
 * Erases a workspace from a build, and from the projection's other builds that have not reached the erasure and perhaps never will: what a dropped build
 * holds stays in the shared indices while another partition uses them. A rebuild may still write what it had read before, and then be abandoned. So the
 * erasure is noted in its record, and repeated when it is dropped.
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

/** Repeats the noted erasures of a build that is dropped now: its indices may stay, if another partition uses them. */
export async function eraseNoted(place: Place, index: IndexName, freshness: Freshness): Promise<void> {
  const { epoch, erased } = await readErased(place, index)
  for (const erasure of erased) await eraseDocuments(place, { index, epoch, freshness }, erasure)
}
