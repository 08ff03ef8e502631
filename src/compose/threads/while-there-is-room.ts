import type { IndexName, IndexWriter } from '#projections/index-store.ts'
import { storedDays } from '#projections/stores/sqlite/known-days.ts'
import { erasureSubject } from '#src/events/erasure.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'

type Room = Readonly<{
  indexFolder: string
  stream: Pick<Stream, 'last'>
  /** Throws TransientError while the disk is full. */
  checkRoom: () => void
}>

/**
 * Folding takes many times as much room as what is folded: it waits, where the disk is full. What the log says further on is erased does not wait for
 * that: it may be what gives room.
 */
export function whileThereIsRoom(writer: IndexWriter, { indexFolder, stream, checkRoom }: Room): IndexWriter {
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
        if (entries.length > 0) checkRoom()
        await writer.write(index, entries, checkpoint)
      } catch (error) {
        if (error instanceof TransientError) await eraseAhead(index)
        throw error
      }
    },
  }
}
