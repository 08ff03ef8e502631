import type { Position } from '#src/events/envelope.ts'
import type { Stream } from '#streams/stream.ts'

/** A log as a server sees it that answers some reads as if nothing came after them. */
export const behind = (stream: Stream, isBehind: (after: Position) => boolean): Stream => ({
  ...stream,
  read: async (after, max) => (isBehind(after) ? [] : stream.read(after, max)),
})
