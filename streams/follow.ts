import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import type { Stream } from './stream.ts'

/**
 * Batches of events after `after`, in order, as they come, until the signal aborts. An empty batch is given each time the
 * reader has caught up, so that a follower knows when it stands at the head.
 */
export async function* follow(
  stream: Stream,
  after: Position,
  max: number,
  signal: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[]> {
  let position = after
  while (!signal.aborted) {
    const events = await stream.read(position, max)
    const last = events.at(-1)
    if (last !== undefined) position = last.position
    yield events
    if (last === undefined && !signal.aborted) await stream.changed(position, signal)
  }
}
