import { parentPort, workerData } from 'node:worker_threads'
import { createProjector } from '#projections/projector.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writer.ts'
import { explain } from '#src/compose/failure.ts'
import { limits } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { createFolding, giveWay } from './folding.ts'
import { openLogBeside } from './log-beside.ts'
import type { ProjectorData, ProjectorMessage, ProjectorOrder } from './projector.ts'
import { retainPartition } from './retention.ts'

// The thread that folds the log into the indexes. It opens them when it is told to start, because another process may be at them
// until then, and ends when it is told to stop, or when it cannot go on.
const { logFile, partition, indexFolder, directoryFile } = workerData as ProjectorData
const port = present(parentPort, 'the projector runs in a thread')

const stopped = new AbortController()
const told = Promise.withResolvers<void>()
port.on('message', (order: ProjectorOrder) => {
  if (order === 'stop') stopped.abort()
  told.resolve()
})

async function run(): Promise<void> {
  giveWay()
  const stream = await openLogBeside({ file: logFile, partition })
  const writer = createSqliteIndexWriter({ folder: indexFolder, limits })
  const projector = createProjector({
    stream,
    writer,
    ...createFolding(),
    onFailure: ({ projection, error, retried }) =>
      port.postMessage({ projection, reason: explain(error), retried } satisfies ProjectorMessage),
    onDeadLetter: (letter) => port.postMessage(letter satisfies ProjectorMessage),
  })
  const directory = await openSqliteStreamReader({ file: directoryFile, partition: 'directory' })
  const tell = (message: ProjectorMessage): void => port.postMessage(message)
  const stopRetaining = retainPartition({ stream, writer, directory }, tell)
  try {
    tell({ partition, isFolded: true })
    await projector.run(stopped.signal)
  } finally {
    stopRetaining()
    await writer.close()
    await stream.close()
    await directory.close()
  }
}

await told.promise
try {
  if (!stopped.signal.aborted) await run()
} finally {
  port.close()
}
