import { join } from 'node:path'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { createScratchFolder, removeStale } from '#projections/stores/sqlite/scratch-folder.ts'
import { limits } from '#src/config.ts'
import type { FilesForm } from './files-audit.ts'
import { createFilesPlace } from './files-place.ts'
import type { LogPlace } from './places.ts'
import { createRoomCheck } from './reserve.ts'
import { createDigestThread } from './threads/digests.ts'

type Scratch = Awaited<ReturnType<BuildContext['scratch']>>

const scratchIn = (dataFolder: string): string => join(dataFolder, 'scratch')

/** Removes what processes that were killed have left there. */
export const tidyScratch = (dataFolder: string): void => removeStale(scratchIn(dataFolder))

/** A folder beside an index for what it is compared with, and the thread that reads it; both go with `remove`. */
export function openScratch(dataFolder: string, form: FilesForm, log: LogPlace): Scratch {
  const room = { dataFolder, use: 'compared' } as const
  createRoomCheck(dataFolder, room.use, limits)()
  const { folder, remove } = createScratchFolder(scratchIn(dataFolder))
  const files = { folder, ...form }
  const { digests, end } = createDigestThread(files)
  return {
    ...createFilesPlace(files, room, log),
    digests,
    remove: async () => {
      await end()
      remove()
    },
  }
}
