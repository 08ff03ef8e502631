import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { upcast } from '#src/events/upcast.ts'
import type { Stream } from './stream.ts'

/**
 * The events after `after`, in order, at most `max`, in the current version of their types; none: caught up. Rejects with what
 * `read` rejects with, and with PermanentError at an event that only a newer program knows, once all before it has been read.
 */
export async function readCurrent(
  stream: Pick<Stream, 'read'>,
  after: Position,
  max: number,
): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for (const event of await stream.read(after, max)) {
    try {
      events.push(upcast(event))
    } catch (error) {
      if (events.length > 0) break
      throw error
    }
  }
  return events
}

/** All that a log holds, in order, at most `max` events at once, as it was written: types of earlier versions stay as they are. */
export async function* readAll(stream: Pick<Stream, 'read'>, max: number): AsyncGenerator<readonly RecordedEvent[]> {
  for (let position = beforeAll; ;) {
    const events = await stream.read(position, max)
    const last = events.at(-1)
    if (last === undefined) return
    yield events
    position = last.position
  }
}

/**
 * Batches of events after `after`, in order, as they come and in the current version of their types, until the signal
 * aborts. An empty batch is given each time the reader has caught up, so that a follower knows when it stands at the head.
 * Throws what `readCurrent` rejects with.
 */
export async function* follow(
  stream: Stream,
  after: Position,
  max: number,
  signal: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[]> {
  let position = after
  while (!signal.aborted) {
    const events = await readCurrent(stream, position, max)
    position = events.at(-1)?.position ?? position
    yield events
    if (events.length === 0 && !signal.aborted) await stream.changed(position, signal)
  }
}
