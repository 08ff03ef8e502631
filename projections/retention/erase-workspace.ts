import type { Clock } from '#src/lib/clock.ts'
import type { FoldVersion } from '#src/events/dead-letter.ts'
import { erasureSubject, sealErasure } from '#src/events/erasure.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import { createDeadLetters } from '../folding/dead-letters.ts'

type ErasingOptions = Readonly<{
  stream: Stream
  projections: readonly FoldVersion[]
  clock: Clock
  /** 32 hex characters that no other event has. */
  newId: () => string
}>

/** How often it is erased again at once if more of it arrived meanwhile. Its senders are refused by then, or soon. */
const roundsMax = 5

/**
 * Erases a deleted workspace from the log of its partition. An event says that all before it is gone; then it is removed, with the dead
 * letters about it. Builds follow when they read that event. It may be interrupted anywhere and called again, even concurrently; if nothing of
 * the workspace is left, it changes nothing. False if more of it keeps arriving: call it again later.
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
  // Also those of an earlier call that was interrupted before it came to them.
  const letters = createDeadLetters({ stream, clock })
  if (erasure !== undefined) for (const fold of projections) await letters.forgetGone(fold, erasure)
  return !isLeft
}
