import type { Clock } from '#src/lib/clock.ts'
import type { FoldVersion } from '#src/events/dead-letter.ts'
import { erasureSubject, sealErasure } from '#src/events/erasure.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import { createDeadLetters } from './dead-letters.ts'

type ErasingOptions = Readonly<{
  stream: Stream
  projections: readonly FoldVersion[]
  clock: Clock
  /** 32 hex characters that no other event has. */
  newId: () => string
}>

/** How often it is erased again at once when more of it came meanwhile: who sends is refused by then, or soon. */
const roundsMax = 5

/**
 * Erases a workspace, of which the directory says that it is no more, from the log of its partition: an event says that all before it is
 * gone, and then it goes, with the dead letters about it. The builds follow when their folds come to that event. May be broken off
 * anywhere and called again, by several at once; where nothing is left of the workspace it changes nothing. False when more of it comes
 * all the time: then it is to be called again later.
 */
export async function eraseWorkspace(options: ErasingOptions, workspaceId: WorkspaceId): Promise<boolean> {
  const { stream, projections, clock, newId } = options
  let rounds = 0
  let isLeft = await stream.isLeft(workspaceId)
  for (; isLeft && rounds < roundsMax; rounds++) {
    const { last } = await stream.append([sealErasure(workspaceId, { at: clock(), unique: newId() })])
    await stream.erase(workspaceId, last)
    isLeft = await stream.isLeft(workspaceId)
  }
  const erasure = await stream.last(erasureSubject(workspaceId))
  // Also of an earlier call that was broken off before it came to them.
  const letters = createDeadLetters({ stream, clock })
  if (erasure !== undefined) for (const of of projections) await letters.forgetGone(of, erasure)
  return !isLeft
}
