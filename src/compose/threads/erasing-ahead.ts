import type { IndexName, IndexWriter } from '#projections/index-store.ts'
import { storedDays } from '#projections/stores/sqlite/known-days.ts'
import { erasureSubject } from '#src/events/erasure.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'

type Place = Readonly<{ indexFolder: string; stream: Pick<Stream, 'last'> }>

/** A writer that applies the erasures further on in the log when a write fails for now, mostly for want of room: they may free it. */
export function erasingAhead(writer: IndexWriter, { indexFolder, stream }: Place): IndexWriter {
  const eraseAhead = async (index: IndexName): Promise<void> => {
    for (const workspaceId of new Set(storedDays(indexFolder, index).map((day) => day.workspaceId))) {
      const erasure = await stream.last(erasureSubject(workspaceId))
      if (erasure !== undefined) await writer.eraseWorkspace(index, workspaceId, erasure.position)
    }
  }
  return {
    ...writer,
    write: async (index, entries, checkpoint) => {
      try {
        await writer.write(index, entries, checkpoint)
      } catch (error) {
        if (error instanceof TransientError) await eraseAhead(index)
        throw error
      }
    },
  }
}
