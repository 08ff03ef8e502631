import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { LostTailError, otherHistory, type Stream } from '#streams/stream.ts'
import { seenBy, type LastFolded, type StoredBuild } from '../index-store.ts'

type Log = Pick<Stream, 'partition' | 'head' | 'first' | 'read'>

/** The id alone is not enough: a sender may send again what a log has lost. */
export const lastFolded = ({ position, id, receivedAt, crc }: RecordedEvent): LastFolded => ({
  position,
  event: `${id} ${receivedAt} ${crc}`,
})

/** The event at a position; undefined if it was erased or cut. */
export async function eventAt(stream: Log, position: Position): Promise<RecordedEvent | undefined> {
  const first = await stream.first()
  if (first === undefined || position < first.position) return undefined
  const [event] = await stream.read(position === first.position ? beforeAll : position - 1, 1)
  return event?.position === position ? event : undefined
}

/**
 * Rejects if the log has lost events that a build has seen, as after an older backup of it was restored: if it ends before them (`seenBy`),
 * as a read from beyond the head does, or if it has grown beyond them again with other events. Even a build that is behind the restored end
 * is refused, because new events would get positions that it knows for other ones. If only the answering replica is behind, the read waits
 * for it.
 */
export async function checkTail(stream: Log, build: StoredBuild): Promise<void> {
  const seen = seenBy(build)
  if (seen > (await stream.head())) await stream.read(seen, 1)
  const { last } = build.heartbeat
  const found = last && (await eventAt(stream, last.position))
  if (found === undefined || lastFolded(found).event === last?.event) return
  throw otherHistory(stream.partition, found.position)
}

/** Whether the log has lost what a build has seen. A replica that is behind does not count. */
export async function hasLostTail(stream: Log, build: StoredBuild): Promise<boolean> {
  try {
    await checkTail(stream, build)
    return false
  } catch (error) {
    if (error instanceof LostTailError) return true
    throw error
  }
}
