import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { BuildPlace } from '#projections/build-place.ts'
import { createDecoder } from '#projections/decoded-event.ts'
import { createDecoders } from '#projections/decoders.ts'
import type { FoldTask } from '#projections/fold-share.ts'
import { projections } from '#projections/registry.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/audit.ts'
import { holdLock } from '#projections/stores/sqlite/hold-lock.ts'
import { createScratchFolder } from '#projections/stores/sqlite/scratch-folder.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writer.ts'
import type { OpenBuilds } from './cli/verb.ts'
import { foldersOf } from './compose-folders.ts'
import type { FoldThreadData } from './compose-fold-thread.ts'
import { openLogBeside } from './compose-log-beside.ts'
import { limits } from './config.ts'
import { createClock } from './lib/clock.ts'
import { systemTimers } from './lib/timers.ts'

const partition = '0'

/** One worker, until it has folded its share or is stopped. */
async function foldInThread(
  data: FoldThreadData,
  onProgress: (position: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const name = `fold ${data.task.share.number}`
  const worker = new Worker(new URL('compose-fold-thread.ts', import.meta.url), { workerData: data, name })
  const stop = (): void => void worker.terminate()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    await new Promise<void>((resolve, reject) => {
      worker.on('message', onProgress)
      worker.once('error', reject)
      worker.once('exit', () => (signal.aborted ? reject(signal.reason as Error) : resolve()))
    })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** All workers; when one fails the others are stopped. */
async function foldInThreads(
  tasks: readonly FoldTask[],
  dataOf: (task: FoldTask) => FoldThreadData,
  onProgress: Parameters<BuildPlace['fold']>[1],
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController()
  const until = AbortSignal.any([signal, failed.signal])
  const outcomes = await Promise.allSettled(
    tasks.map(async (task) => {
      try {
        await foldInThread(dataOf(task), (position) => onProgress(task.share.number, position), until)
      } catch (error) {
        failed.abort(error)
        throw error
      }
    }),
  )
  const first = outcomes.find((outcome) => outcome.status === 'rejected')
  if (first !== undefined) throw failed.signal.reason
}

function placeIn(folder: string, logFile: string): BuildPlace {
  return {
    writer: () => createSqliteIndexWriter({ folder, limits }),
    audit: () => createSqliteIndexAudit({ folder }),
    fold: (tasks, onProgress, signal) =>
      foldInThreads(tasks, (task) => ({ logFile, partition, folder, task }), onProgress, signal),
  }
}

/** The builds of a data folder, beside a server that may be running; none where there is no log yet. */
export async function openBuilds(dataFolder: string): Promise<readonly OpenBuilds[]> {
  const { logFile, indexFolder } = foldersOf(dataFolder)
  if (!existsSync(logFile)) return []
  const stream = await openLogBeside({ file: logFile, partition })
  return [
    {
      stream,
      projections,
      decode: createDecoder(createDecoders(limits)),
      clock: createClock(),
      timers: systemTimers,
      limits,
      workers: Math.max(2, availableParallelism()),
      index: placeIn(indexFolder, logFile),
      scratch: async () => {
        const { folder, remove } = createScratchFolder(join(dataFolder, 'scratch'))
        return { ...placeIn(folder, logFile), remove: async () => remove() }
      },
      lock: async (projection) => {
        const lock = holdLock(join(dataFolder, 'locks', `rebuild-${projection}`))
        return lock && { release: async () => lock.release() }
      },
      close: () => stream.close(),
    },
  ]
}
