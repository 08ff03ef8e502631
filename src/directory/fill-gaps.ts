import { sealDirectoryEvent } from '#src/events/directory.ts'
import { beforeAll, positionStep, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import type { Stream } from '#streams/stream.ts'

/**
 * Stands for a lost event. It changes nothing and is in nobody's audit, in programs of any version: no session has such a hash. It is the same each
 * time it is made.
 */
function standIn(position: Position, at: number): RecordedEvent {
  const unique = position.toString(16).padStart(32, '0')
  const event = { type: 'directory.session.continued', session: `lost-${position}` } as const
  return { ...sealDirectoryEvent(event, at, unique), position }
}

/**
 * A directory that was damaged has lost events between others, and keeps their places, which others name. Of this one, as it is read, each such place
 * has an event, so that it can be copied to a log that counts its events without gaps.
 */
export const withoutGaps = (
  log: Pick<Stream, 'epoch' | 'first' | 'read' | 'head'>,
): Pick<Stream, 'epoch' | 'read' | 'head'> => ({
  epoch: log.epoch,
  head: log.head,
  read: async (after, max) => {
    // What was lost at the beginning counts as cut off.
    const begins = (await log.first())?.position ?? beforeAll
    const events = await log.read(after < begins ? beforeAll : after, max)
    const filled: RecordedEvent[] = []
    let position = Math.floor(after / positionStep) * positionStep
    for (const event of events) {
      for (position += positionStep; position < event.position && filled.length < max; position += positionStep)
        filled.push(standIn(position, event.receivedAt))
      if (filled.length === max) break
      filled.push(event)
    }
    return filled
  },
})
