import { workerData } from 'node:worker_threads'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { limits } from '#src/config.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { createFolding } from '../folding.ts'
import { openLogBeside } from '../log-beside.ts'
import { embeddedFilesOpen } from '../open-files.ts'
import { createRoomCheck } from '../reserve.ts'
import { erasingAhead } from './erasing-ahead.ts'
import { foldPartition, runWhenTold } from './fold-partition.ts'
import { giveWay } from './give-way.ts'
import type { ProjectorData } from './projector-messages.ts'

// The thread that folds the log into the indexes. It opens them when it is told to start, because another process may have them open
// until then.
const { dataFolder, log, directory: directoryLog, indexFolder } = workerData as ProjectorData

await runWhenTold(async (tell, signal) => {
  giveWay()
  const stream = await openLogBeside(log)
  const directory = await openSqliteStreamReader(directoryLog)
  const writer = createSqliteIndexWriter({
    folder: indexFolder,
    limits: { indexFilesOpenMax: embeddedFilesOpen(limits) },
    // Folding takes many times as much room as what is folded: it waits, where the disk is full.
    checkRoom: createRoomCheck(dataFolder, 'folded', limits),
  })
  try {
    const given = { stream, writer: erasingAhead(writer, { indexFolder, stream }), directory, folding: createFolding() }
    await foldPartition({ ...given, nameOf: (name) => name }, tell, signal)
  } finally {
    await writer.close()
    await stream.close()
    await directory.close()
  }
})
