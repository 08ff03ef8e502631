import type { LogFile } from '#streams/sqlite/log-file.ts'
import { createSqliteStream, openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { ConflictError, type Stream } from '#streams/stream.ts'

/** Whoever writes beside the server appends little at a time. */
export const limitsBeside = {
  appendQueueEventsMax: 64,
  appendQueueBytesMax: 1_048_576,
  appendBatchEventsMax: 64,
  appendBatchBytesMax: 1_048_576,
}

/**
 * A log that another thread or process writes: for reading, and for the few events that readers append, such as decisions about dead letters. It is
 * opened for writing at the first append, cut or erasure.
 */
export async function openLogBeside(log: LogFile): Promise<Stream> {
  const reader = await openSqliteStreamReader(log)
  let writer: Promise<Stream> | undefined
  const write = async <T>(task: (stream: Stream) => Promise<T>): Promise<T> => {
    const own = (writer ??= createSqliteStream({ ...log, thread: false, limits: limitsBeside }))
    try {
      return await task(await own)
    } catch (error) {
      if (error instanceof ConflictError) throw error
      // It could not be opened, or an I/O error has broken it: the next call opens it anew, unless another call has done so already.
      if (writer === own) writer = undefined
      await own.then((stream) => stream.close()).catch(() => undefined)
      throw error
    }
  }
  return {
    ...reader,
    append: (...given) => write((stream) => stream.append(...given)),
    cut: (upTo) => write((stream) => stream.cut(upTo)),
    erase: (workspaceId, upTo) => write((stream) => stream.erase(workspaceId, upTo)),
    close: async () => {
      await reader.close()
      await (await writer?.catch(() => undefined))?.close()
    },
  }
}
