import { join } from 'node:path'
import { holdLock } from '#projections/stores/sqlite/hold-lock.ts'
import type { OpenBuilds } from '#src/cli/services.ts'
import { makeFolder } from '#src/lib/make-folder.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { createFilesPlace } from './files-place.ts'
import { foldersOf } from './folders.ts'
import { createFolding } from './folding.ts'
import { readFirstDays } from './keepings.ts'
import { openLogBeside } from './log-beside.ts'
import { openScratch } from './scratch.ts'
import { createDigestThread } from './threads/digests.ts'
import { foldWorkers } from './threads/fold-threads.ts'

/** The builds of a data folder, beside a server that may be running. */
export async function openBuilds(dataFolder: string): Promise<OpenBuilds> {
  const { log, directory, indexFolder } = foldersOf(dataFolder)
  const folding = createFolding()
  const files = { folder: indexFolder, keeps: 'all' } as const
  const digestThread = createDigestThread(files)
  const stream = await openLogBeside(log)
  const openDirectory = () => openSqliteStreamReader(directory)
  return {
    stream,
    ...folding,
    firstDays: () => readFirstDays(openDirectory, folding.clock),
    workers: foldWorkers(),
    index: { ...createFilesPlace(files, { dataFolder, use: 'folded' }, log), digests: digestThread.digests },
    // Postings are the most of what an index costs: files that it is compared with have sums over them.
    scratch: async () => openScratch(dataFolder, { keeps: 'sums' }, log),
    lock: async (projection) => {
      const folder = join(dataFolder, 'locks')
      makeFolder(folder, { operation: 'lock', hint: 'this user must be able to write it, and its disk must have room' })
      const lock = holdLock(join(folder, `rebuild-${projection}`))
      return lock && { release: async () => lock.release() }
    },
    close: async () => {
      await digestThread.end()
      await stream.close()
    },
  }
}
