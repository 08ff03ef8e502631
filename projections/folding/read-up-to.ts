import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import { readCurrent } from '#streams/follow.ts'
import type { Stream } from '#streams/stream.ts'

/**
 * The next events of a log that has some after `after`, because it has ended at `until` or later: its last event is never erased nor cut. An empty
 * answer then only means that whoever answered is behind, as a server that is cut off may be. Taken for the end, it would let a build say that it has
 * events which nobody has folded. Rejects as `readCurrent` does; with LostTailError if the log ends earlier by now; with TransientError if it
 * goes on answering nothing.
 */
export async function readUpTo(
  stream: Pick<Stream, 'partition' | 'read'>,
  { after, until }: Readonly<{ after: Position; until: Position }>,
  max: number,
): Promise<readonly RecordedEvent[]> {
  const events = await readCurrent(stream, after, max)
  if (events.length > 0) return events
  // Waits for a server that is behind that.
  await stream.read(until, 1)
  const again = await readCurrent(stream, after, max)
  if (again.length > 0) return again
  throw new TransientError({
    operation: `read after position ${after}`,
    subject: `of stream ${stream.partition}`,
    hint: `it has events up to ${until}: the copy of it that answers is behind`,
  })
}
