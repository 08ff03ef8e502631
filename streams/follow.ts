import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { upcast } from '#src/events/upcast.ts'
import type { Stream } from './stream.ts'

/**
 * At most `max` events after `after`, in order and in the current version of their types. Empty: caught up. Rejects like `read`, and with
 * PermanentError at an event that only a newer program knows, once everything before it has been read.
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

/** All events of a log, in order, at most `max` at a time, as they were written: they are not upcast. */
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
 * Batches of events after `after`, in order and in the current version of their types, as they are appended, until the signal aborts. Yields
 * an empty batch each time it has caught up, so that a follower knows when it is at the head. Throws what `readCurrent` rejects with.
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
