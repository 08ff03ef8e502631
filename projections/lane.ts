import type { Clock } from '#src/lib/clock.ts'
import type { Position } from '#src/events/envelope.ts'
import { createDocumentCache, type CacheLimits } from './documents.ts'
import { foldBatch } from './fold-batch.ts'
import type { IndexName, IndexWriter } from './index-store.ts'
import type { DecodedEvent, Projection } from './projection.ts'
import { withSeenEvents } from './seen-events.ts'

/** One build of a projection on its way through the log: how far it is, what it has loaded. */
export type Lane = Readonly<{
  projection: string
  index: IndexName
  /** The last event that readers can find. */
  position(): Position
  /** Folds and writes what of these events it has not had; after a failure it may be tried again. */
  fold(events: readonly DecodedEvent[], last: Position): Promise<void>
  /** Tells readers how far the index is. `head`: the log's, asked before. */
  heartbeat(head: Position): Promise<void>
}>

export type LaneOptions = Readonly<{ writer: IndexWriter; epoch: string; clock: Clock; limits: CacheLimits }>

/** Opens a build of this log, and makes it where it is not there; what came up to `after` is then not in it. */
export async function openLane(
  projection: Projection,
  index: IndexName,
  { writer, epoch, clock, limits }: LaneOptions,
  after: Position = 0,
): Promise<Lane> {
  const complete = withSeenEvents(projection)
  await writer.open(index, complete, epoch, after)
  let { position } = await writer.checkpoint(index)
  let cache = createDocumentCache(limits)
  let caughtUpAt = 0
  return {
    projection: projection.name,
    index,
    position: () => position,
    async fold(events, last) {
      if (last <= position) return
      try {
        const fresh = events.filter(({ event }) => event.position > position)
        await foldBatch(complete, fresh, cache, (keys) => writer.load(index, keys))
        await writer.write(index, cache.takeChanged(), { epoch, position: last })
      } catch (error) {
        // Half an event may be in it: what is tried again begins with what is stored.
        cache = createDocumentCache(limits)
        throw error
      }
      position = last
      cache.trim()
    },
    async heartbeat(head) {
      const at = clock()
      if (position >= head) caughtUpAt = at
      await writer.heartbeat(index, { position, head: Math.max(head, position), at, caughtUpAt })
    },
  }
}
