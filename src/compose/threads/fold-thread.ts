import { parentPort, workerData } from 'node:worker_threads'
import { foldShare, shareName, type FoldTask } from '#projections/fold-share.ts'
import { openLogIn, openSharedWriter, type IndexPlace, type LogPlace } from '#src/compose/places.ts'
import { present } from '#src/lib/assert.ts'
import { createFolding, giveWay } from './folding.ts'

// One worker of a rebuild, or of a fold that is compared with. It says how far it is, position by position, and ends.

export type FoldThreadData = Readonly<{ log: LogPlace; index: IndexPlace; task: FoldTask }>

const { log, index, task } = workerData as FoldThreadData
const port = present(parentPort, 'a fold runs in a thread')

giveWay()

const stream = await openLogIn(log)
const writer = await openSharedWriter(index, shareName(task.share))
try {
  await foldShare(task, {
    stream,
    writer,
    ...createFolding(),
    onProgress: (position) => port.postMessage(position),
  })
} finally {
  await writer.close()
  await stream.close()
}
