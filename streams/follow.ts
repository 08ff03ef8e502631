import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import { upcast } from '#src/events/upcast.ts'
import type { Stream } from './stream.ts'

/**
 * Batches of events after `after`, in order, as they come and in the current version of their types, until the signal
 * aborts. An empty batch is given each time the reader has caught up, so that a follower knows when it stands at the head.
 * Throws what `read` rejects with, and PermanentError at an event that only a newer program knows, after all before it.
 */
export async function* follow(
  stream: Stream,
  after: Position,
  max: number,
  signal: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[]> {
  let position = after
  while (!signal.aborted) {
    const events: RecordedEvent[] = []
    let unknown: unknown
    for (const event of await stream.read(position, max)) {
      try {
        events.push(upcast(event))
      } catch (error) {
        unknown = error
        break
      }
    }
    const last = events.at(-1)
    if (last !== undefined) position = last.position
    if (last !== undefined || unknown === undefined) yield events
    if (unknown !== undefined) throw unknown
    if (last === undefined && !signal.aborted) await stream.changed(position, signal)
  }
}
