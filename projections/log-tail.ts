import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { LostTailError, otherHistory, type Stream } from '#streams/stream.ts'
import { seenBy, type LastFolded, type StoredBuild } from './index-store.ts'

type Log = Pick<Stream, 'partition' | 'head' | 'first' | 'read'>

/** An id alone may come twice: a sender sends again what a log has lost. */
export const lastFolded = ({ position, id, receivedAt, crc }: RecordedEvent): LastFolded => ({
  position,
  event: `${id} ${receivedAt} ${crc}`,
})

/** What stands at a position; undefined where it was erased or cut. */
export async function lastFoldedAt(stream: Log, position: Position): Promise<LastFolded | undefined> {
  const first = await stream.first()
  if (first === undefined || position < first.position) return undefined
  const [event] = await stream.read(position === first.position ? beforeAll : position - 1, 1)
  return event?.position === position ? lastFolded(event) : undefined
}

/**
 * Rejects where the log is not the one that a build has seen, as after an older state of it was put back: as a read from beyond the head
 * does, where it ends before that (`seenBy`), and where it has grown beyond that again, but with other events. The build may stand before
 * the end of what was put back: but what comes next would get places at which it has had other events. Where only the copy that answers
 * is behind, the read waits for it.
 */
export async function checkTail(stream: Log, build: StoredBuild): Promise<void> {
  const seen = seenBy(build)
  if (seen > (await stream.head())) await stream.read(seen, 1)
  const { last } = build.heartbeat
  const found = last && (await lastFoldedAt(stream, last.position))
  if (found !== undefined && found.event !== last?.event) throw otherHistory(stream.partition, found.position)
}

/** Whether the log has lost what a build has seen: never said of one look at a copy that is behind. */
export async function hasLostTail(stream: Log, build: StoredBuild): Promise<boolean> {
  try {
    await checkTail(stream, build)
    return false
  } catch (error) {
    if (error instanceof LostTailError) return true
    throw error
  }
}
