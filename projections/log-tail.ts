import type { Position } from '#src/events/envelope.ts'
import { LostTailError, type Stream } from '#streams/stream.ts'

/**
 * Rejects as a read from beyond the log's head does, where the log ends before what builds have seen of it (`seenBy`), as after an older
 * state of it was put back. They may stand before that end themselves: but what comes next would get places at which they have had other
 * events. Where only the copy that answers is behind, the read waits for it.
 */
export async function checkTail(stream: Pick<Stream, 'head' | 'read'>, seen: Position): Promise<void> {
  if (seen > (await stream.head())) await stream.read(seen, 1)
}

/** Whether the log ends before that: never said of one look at a copy that is behind. */
export async function hasLostTail(stream: Pick<Stream, 'head' | 'read'>, seen: Position): Promise<boolean> {
  try {
    await checkTail(stream, seen)
    return false
  } catch (error) {
    if (error instanceof LostTailError) return true
    throw error
  }
}
