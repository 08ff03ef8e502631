import { PermanentError } from '#src/lib/failure.ts'
import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { readCurrent } from '#streams/follow.ts'
import type { BuildContext } from './build-place.ts'
import { UndecidedError } from './dead-letters.ts'
import type { Lane } from './lane.ts'

/** Up to where an index is known to have a workspace: so far it may be folded beside others. */
export type Limit = (workspaceId: WorkspaceId) => Position

/**
 * Whatever is still to be compared, by workspace, the first of each at its head: up to there the index has the workspace at least. What
 * has no position is compared last, where its workspace ends.
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
 * Where each workspace ends: at the head of the log, or before an event on which nobody has decided, as every index does that is not
 * said to be beyond.
 */
export function createEnds(head: Position, said: Limit) {
  const ends = new Map<WorkspaceId, Position>()
  return {
    of: (workspaceId: WorkspaceId): Position => ends.get(workspaceId) ?? head,
    /** Folds, and again whenever an end was met. */
    async within(fold: () => Promise<void>): Promise<void> {
      for (;;) {
        try {
          return await fold()
        } catch (error) {
          if (!(error instanceof UndecidedError)) throw error
          const { workspaceId, position } = error.event
          // Beyond its end nothing is folded: to meet that again would be to go round for ever.
          if (position <= said(workspaceId) || position > (ends.get(workspaceId) ?? head)) throw error
          ends.set(workspaceId, position - 1)
        }
      }
    },
  }
}

/**
 * The fold of the log that an index is compared with. All workspaces are folded together, and each only as far as the index has
 * come for it: who is behind there is left behind here, and read by itself when the index is further.
 */
export type ExpectedFold = Readonly<{
  /** How far a workspace is folded. */
  positionOf(workspaceId: WorkspaceId): Position
  /** How far those are that are furthest. */
  position(): Position
  /** Folds a workspace up to a position, and the others with it, as far as they may be. */
  foldTo(workspaceId: WorkspaceId, position: Position, limit: Limit): Promise<void>
}>

/** `takes`: who is compared at all. */
export function createExpectedFold(
  { stream, decode, limits }: Pick<BuildContext, 'stream' | 'decode' | 'limits'>,
  lane: Lane,
  takes: (workspaceId: WorkspaceId) => boolean,
): ExpectedFold {
  let at = lane.position()
  const behind = new Map<WorkspaceId, Position>()
  /** Read, and not folded yet: it may be asked for one event after another. */
  let unfolded: readonly RecordedEvent[] = []
  const read = (after: Position) => readCurrent(stream, after, limits.projectorBatchEventsMax)
  const fold = (events: readonly RecordedEvent[], position: Position): Promise<void> =>
    lane.foldAhead(events.map(decode), { position, caughtUpAt: 0, behind })

  const foldBehind = async (workspaceId: WorkspaceId, from: Position, to: Position): Promise<void> => {
    for (let own = from; own < to; behind.set(workspaceId, own)) {
      const events = (await read(own)).filter(({ position }) => position <= to)
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
      if (unfolded.length === 0) unfolded = await read(at)
      if (unfolded.length === 0) {
        const hint = 'the index is ahead of the log: it follows another one, or the log has lost its tail'
        throw new PermanentError({ operation: 'verify', subject: `${lane.index} at position ${to}`, hint })
      }
      const events = unfolded.filter(({ position }) => position <= to)
      const last = events.at(-1)?.position
      // No event stands there: the fold is as it was after the one before.
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
      for (const of of left) behind.set(of, at)
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
