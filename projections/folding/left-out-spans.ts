import { monthOf } from '#src/events/allowance.ts'
import { deadLettersAfter, deadLettersSubject, type FoldVersion } from '#src/events/dead-letter.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import type { DeadLetters } from './dead-letters.ts'

type LeavesOut = (workspaceId: WorkspaceId, month: string, reached: Position) => Promise<boolean>

/** Spans of a dead letter. Its event never changes, so it is read once. */
type OfLetter = Readonly<{ workspaceId: WorkspaceId; month: string; spans: number }>

/**
 * Whether an index that has reached a position leaves out spans of a workspace's month: those of a dead letter, unless it is retried
 * and the index has reached the newest decision, so that it holds them again. Letters whose event is gone do not matter: the log keeps its events for
 * more than a month, and a workspace that was erased uses no spans.
 */
export function createLeavesOut(
  fold: FoldVersion,
  stream: Pick<Stream, 'last' | 'epoch'>,
  { event }: Pick<DeadLetters, 'event'>,
): LeavesOut {
  const known = new Map<Position, OfLetter>()
  const ofLetter = async (position: Position): Promise<OfLetter | undefined> => {
    const found = known.get(position)
    if (found !== undefined) return found
    const read = await event(position)
    if (read === undefined) return undefined
    const { workspaceId, receivedAt, counts } = read
    const made = { workspaceId, month: monthOf(receivedAt), spans: counts.spans }
    known.set(position, made)
    return made
  }
  return async (workspaceId, month, reached) => {
    const newest = await stream.last(deadLettersSubject(fold))
    if (newest === undefined) return false
    const isBehind = newest.position > reached
    for (const { position, state } of deadLettersAfter(newest, stream.epoch)) {
      if (state === 'retried' && !isBehind) continue
      const letter = await ofLetter(position)
      if (letter?.workspaceId === workspaceId && letter.month === month && letter.spans > 0) return true
    }
    return false
  }
}
