import { platform, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { createDecoder } from '#projections/decoded-event.ts'
import { createDecoders } from '#projections/decoders.ts'
import { foldShare, shareName, type FoldTask } from '#projections/fold-share.ts'
import { projections } from '#projections/registry.ts'
import { openLogIn, openSharedWriter, type IndexPlace, type LogPlace } from './compose-places.ts'
import { limits } from './config.ts'
import { present } from './lib/assert.ts'
import { createClock } from './lib/clock.ts'
import { systemTimers } from './lib/timers.ts'

// One worker of a rebuild, or of a fold that is compared with. It says how far it is, position by position, and ends.

export type FoldThreadData = Readonly<{ log: LogPlace; index: IndexPlace; task: FoldTask }>

const { log, index, task } = workerData as FoldThreadData
const port = present(parentPort, 'a fold runs in a thread')

/** On Linux a priority is a thread's own: a server beside it keeps the processors that it needs. */
const niceness = 10
if (platform() === 'linux') setPriority(niceness)

const stream = await openLogIn(log)
const writer = await openSharedWriter(index, shareName(task.share))
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
