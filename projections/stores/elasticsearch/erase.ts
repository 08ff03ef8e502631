import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName } from '../../index-store.ts'
import { numberIn, objectIn, textIn } from './answer-parts.ts'
import { changeBuild, listBuildsBefore, recordOf } from './builds.ts'
import { createWriteBuffer, writeAll } from './bulk.ts'
import { ofWorkspace } from './filter.ts'
import { freezeBuild } from './frozen-build.ts'
import type { Place } from './place.ts'
import type { Freshness } from './refresh.ts'
import { readRoster } from './rosters.ts'
import type { StoredDocument } from './stored-document.ts'

/** A workspace that was erased up to a position of a log (`epoch`). */
type Erasure = Readonly<{ workspaceId: WorkspaceId; position: Position; epoch: string }>

/** Notes in a build's record an erasure that the build itself has not reached. */
const noteErased = (place: Place, index: IndexName, { workspaceId, position, epoch }: Erasure): Promise<unknown> =>
  changeBuild(place, index, (source) => {
    const erased = objectIn(source['erased'])
    const before = objectIn(erased[workspaceId])
    const isOlder = before['epoch'] === epoch && numberIn(before['position']) > position
    return isOlder ? undefined : { erased: { ...erased, [workspaceId]: { position, epoch } } }
  })

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
      const erase = async ({ key, version }: StoredDocument): Promise<void> => {
        if (build.epoch === epoch && version > erasedAt) return
        const position = Math.max(erasedAt, version + 1)
        build.freshness.wrote(index)
        await add({ kind: 'delete', index, key, workspaceId, position, document: '' })
      }
      // Deleting a document twice does no harm.
      await frozen.visit(index, ofWorkspace(workspaceId), () => erase, { _source: false })
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
  const source = (await recordOf(place, index)) ?? {}
  const build = { index, epoch: textIn(source['epoch']), freshness }
  for (const [workspaceId, noted] of Object.entries(objectIn(source['erased']))) {
    const { position, epoch } = objectIn(noted)
    const erasure = { workspaceId: workspaceId as WorkspaceId, position: numberIn(position), epoch: textIn(epoch) }
    await eraseDocuments(place, build, erasure)
  }
}
