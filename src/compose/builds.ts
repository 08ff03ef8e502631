import { join } from 'node:path'
import type { BuildPlace } from '#projections/builds/build-place.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import { holdLock } from '#projections/stores/sqlite/hold-lock.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import type { OpenBuilds } from '#src/cli/verb.ts'
import { createFilesAudit } from '#src/compose/files-audit.ts'
import { createDigestThread, type DigestThread } from '#src/compose/threads/digests.ts'
import { foldInThreads, foldWorkers } from '#src/compose/threads/fold-threads.ts'
import { createFolding } from '#src/compose/threads/folding.ts'
import { openLogBeside } from '#src/compose/threads/log-beside.ts'
import { readFirstDays } from '#src/compose/threads/retention.ts'
import { limits } from '#src/config.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { foldersOf } from './folders.ts'
import { openScratch, type Scratch } from './scratch.ts'

const partition = '0'

const placeIn = (folder: string, logFile: string, { digests }: DigestThread): BuildPlace => ({
  writer: () => createSqliteIndexWriter({ folder, limits }),
  audit: () => createSqliteIndexAudit({ folder }),
  fold: foldInThreads({ file: logFile, partition }, { folder }),
  digests,
})

/** Postings are the most of what an index costs: files that it is compared with have sums over them. */
function scratchIn(dataFolder: string, logFile: string): Scratch {
  const { files, ...scratch } = openScratch(dataFolder, { keeps: 'sums' })
  return {
    writer: () => createSqliteIndexWriter({ ...files, limits }),
    audit: () => createFilesAudit(files),
    fold: foldInThreads({ file: logFile, partition }, files),
    ...scratch,
  }
}

/** The builds of a data folder, beside a server that may be running. */
export async function openBuilds(dataFolder: string): Promise<OpenBuilds> {
  const { logFile, indexFolder, directoryFile } = foldersOf(dataFolder)
  const stream = await openLogBeside({ file: logFile, partition })
  const folding = createFolding()
  const digestThread = createDigestThread({ folder: indexFolder, keeps: 'all' })
  const openDirectory = () => openSqliteStreamReader({ file: directoryFile, partition: 'directory' })
  return {
    stream,
    ...folding,
    firstDays: () => readFirstDays(openDirectory, folding.clock),
    workers: foldWorkers(),
    index: placeIn(indexFolder, logFile, digestThread),
    scratch: async () => scratchIn(dataFolder, logFile),
    lock: async (projection) => {
      const lock = holdLock(join(dataFolder, 'locks', `rebuild-${projection}`))
      return lock && { release: async () => lock.release() }
    },
    close: async () => {
      await digestThread.end()
      await stream.close()
    },
  }
}
