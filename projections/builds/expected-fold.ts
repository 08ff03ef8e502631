import { PermanentError } from '#src/lib/failure.ts'
import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { LostTailError } from '#streams/stream.ts'
import { UndecidedError } from '../folding/dead-letters.ts'
import type { Lane } from '../folding/lane.ts'
import { readUpTo } from '../folding/read-up-to.ts'
import type { BuildContext } from './build-place.ts'

/** The position up to which an index is known to have a workspace: so far it may be folded together with others. */
export type Limit = (workspaceId: WorkspaceId) => Position

/**
 * What is still to be compared, by workspace, in order of position. The index has a workspace at least up to its first item. Items without a
 * position come last, at the end of their workspace.
 */
export function createQueue<T extends Readonly<{ workspaceId: WorkspaceId; position?: Position }>>(
  sorted: readonly T[],
) {
  const all = Map.groupBy(sorted, ({ workspaceId }) => workspaceId)
  const taken = new Map<WorkspaceId, number>()
  const takenOf = (workspaceId: WorkspaceId): number => taken.get(workspaceId) ?? 0
  return {
    take: ({ workspaceId }: T): void => void taken.set(workspaceId, takenOf(workspaceId) + 1),
    beside:
      (limit: Limit, endOf: Limit = () => beforeAll): Limit =>
      (workspaceId) => {
        const next = all.get(workspaceId)?.[takenOf(workspaceId)]
        return Math.max(limit(workspaceId), next === undefined ? beforeAll : (next.position ?? endOf(workspaceId)))
      },
  }
}

/**
 * Where each workspace ends: at the head of the log, or before an event that cannot be folded and on which nobody has decided. No index is
 * beyond such an event, unless it says so (`said`).
 */
export function createEnds(head: Position, said: Limit) {
  const ends = new Map<WorkspaceId, Position>()
  return {
    of: (workspaceId: WorkspaceId): Position => ends.get(workspaceId) ?? head,
    /** Folds, and starts again whenever it met an end. */
    async within(fold: () => Promise<void>): Promise<void> {
      for (;;) {
        try {
          return await fold()
        } catch (error) {
          if (!(error instanceof UndecidedError)) throw error
          const { workspaceId, position } = error.event
          // Nothing is folded beyond an end, so meeting one again would loop forever.
          if (position <= said(workspaceId) || position > (ends.get(workspaceId) ?? head)) throw error
          ends.set(workspaceId, position - 1)
        }
      }
    },
  }
}

/**
 * The fold of the log that an index is compared with. All workspaces are folded together, each only as far as the index has it. A workspace
 * that is behind in the index stays behind here, and is read separately once the index is further.
 */
export type ExpectedFold = Readonly<{
  /** How far a workspace is folded. */
  positionOf(workspaceId: WorkspaceId): Position
  /** How far the furthest workspaces are. */
  position(): Position
  /** Folds a workspace up to a position, and the others with it, each at most to its limit. */
  foldTo(workspaceId: WorkspaceId, position: Position, limit: Limit): Promise<void>
}>

/** `takes`: which workspaces are compared at all. */
export function createExpectedFold(
  { stream, decode, limits }: Pick<BuildContext, 'stream' | 'decode' | 'limits'>,
  lane: Lane,
  takes: (workspaceId: WorkspaceId) => boolean,
): ExpectedFold {
  let at = lane.position()
  const behind = new Map<WorkspaceId, Position>()
  /** Read but not folded yet, because the caller may go on event by event. */
  let unfolded: readonly RecordedEvent[] = []
  const nextEvents = (after: Position, until: Position): Promise<readonly RecordedEvent[]> =>
    readUpTo(stream, { after, until }, limits.projectorBatchEventsMax).catch((error: unknown) => {
      if (!(error instanceof LostTailError)) throw error
      const hint = 'the index is ahead of the log: it follows another one, or the log has lost its tail'
      throw new PermanentError({ operation: 'verify', subject: `${lane.index} at position ${until}`, hint })
    })
  const fold = (events: readonly RecordedEvent[], position: Position): Promise<void> =>
    lane.foldAhead(events.map(decode), { position, caughtUpAt: 0, behind })

  const foldBehind = async (workspaceId: WorkspaceId, from: Position, to: Position): Promise<void> => {
    for (let own = from; own < to; behind.set(workspaceId, own)) {
      const events = (await nextEvents(own, to)).filter(({ position }) => position <= to)
      const last = events.at(-1)?.position ?? to
      await fold(
        events.filter((event) => event.workspaceId === workspaceId),
        last,
      )
      own = last
    }
    if (to === at) behind.delete(workspaceId)
  }
  const foldOn = async (workspaceId: WorkspaceId, to: Position, limit: Limit): Promise<void> => {
    while (at < to) {
      if (unfolded.length === 0) unfolded = await nextEvents(at, to)
      const events = unfolded.filter(({ position }) => position <= to)
      const last = events.at(-1)?.position
      // There is no event at this position: the fold stays as it was after the one before.
      if (last === undefined) return
      const mine = events.filter((event) => takes(event.workspaceId) && !behind.has(event.workspaceId))
      const early = mine.filter(
        (event) => event.workspaceId !== workspaceId && event.position > limit(event.workspaceId),
      )
      const left = new Set(early.map((event) => event.workspaceId))
      await fold(
        mine.filter((event) => !left.has(event.workspaceId)),
        last,
      )
      for (const one of left) behind.set(one, at)
      unfolded = unfolded.slice(events.length)
      at = last
    }
  }
  return {
    positionOf: (workspaceId) => behind.get(workspaceId) ?? at,
    position: () => at,
    async foldTo(workspaceId, position, limit) {
      const own = behind.get(workspaceId)
      if (own !== undefined) await foldBehind(workspaceId, own, Math.min(position, at))
      if (position > at) await foldOn(workspaceId, position, limit)
    },
  }
}
