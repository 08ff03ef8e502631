import { platform, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { createDecoder } from '#projections/decoded-event.ts'
import { createDecoders } from '#projections/decoders.ts'
import { foldShare, shareName, type FoldTask } from '#projections/fold-share.ts'
import { projections } from '#projections/registry.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writer.ts'
import { openLogBeside } from './compose-log-beside.ts'
import { limits } from './config.ts'
import { present } from './lib/assert.ts'
import { createClock } from './lib/clock.ts'
import { systemTimers } from './lib/timers.ts'

// One worker of a rebuild, or of a fold that is compared with. It says how far it is, position by position, and ends.

export type FoldThreadData = Readonly<{ logFile: string; partition: string; folder: string; task: FoldTask }>

const { logFile, partition, folder, task } = workerData as FoldThreadData
const port = present(parentPort, 'a fold runs in a thread')

/** On Linux a priority is a thread's own: a server beside it keeps the processors that it needs. */
const niceness = 10
if (platform() === 'linux') setPriority(niceness)

const stream = await openLogBeside({ file: logFile, partition })
const writer = createSqliteIndexWriter({ folder, limits, share: shareName(task.share) })
try {
  await foldShare(task, {
    stream,
    writer,
    projections,
    decode: createDecoder(createDecoders(limits)),
    clock: createClock(),
    timers: systemTimers,
    limits,
    onProgress: (position) => port.postMessage(position),
  })
} finally {
  await writer.close()
  await stream.close()
}
