import { createDecoder } from '#projections/folding/decoded-event.ts'
import { createProjector } from '#projections/folding/projector.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { createRandom } from './random.ts'
import { counting, lineDecoders, lineEvent } from './line-projections.ts'

/** The same log in every process: 240 events of two workspaces over two days of receipt. */
export async function createCrashLog(): Promise<Stream> {
  const random = createRandom(99)
  const stream = createMemoryStream({ partition: '0', epoch: 'crash-log' })
  for (let n = 1; n <= 240; n++) {
    const lines = Array.from({ length: 1 + random.below(4) }, () => random.pick(['a', 'b', 'c', 'd', 'e f']))
    await stream.append([lineEvent(n, lines, random.pick(['acme', 'other']))])
  }
  return stream
}

/** Folds the log into a folder, telling each heartbeat's position on stdout, until it is killed or has all. */
async function foldUntilKilled(folder: string): Promise<void> {
  const stream = await createCrashLog()
  const writer = createSqliteIndexWriter({ folder, limits: { indexFilesOpenMax: 2 }, syncEveryMs: 0 })
  const stop = new AbortController()
  const head = await stream.head()
  const projector = createProjector({
    stream,
    writer: {
      ...writer,
      async heartbeat(index, heartbeat) {
        await writer.heartbeat(index, heartbeat)
        process.stdout.write(`${heartbeat.position}\n`)
        if (heartbeat.position >= head) stop.abort()
      },
    },
    projections: [counting],
    decode: createDecoder(lineDecoders),
    clock: Date.now,
    timers: systemTimers,
    limits: {
      projectorBatchEventsMax: 3,
      projectorBatchRecordsMax: 1_000,
      projectorBatchBytesMax: 1e6,
      cachedDocumentsMax: 4,
      cachedBytesMax: 1e6,
    },
  })
  await projector.run(stop.signal)
  await writer.close()
}

const folder = process.env['INDEX_CRASH_FOLDER']
if (folder !== undefined) await foldUntilKilled(folder)
