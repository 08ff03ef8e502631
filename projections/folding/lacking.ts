import type { DeadLetter, FoldVersion } from '#src/events/dead-letter.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { DeadLetters } from './dead-letters.ts'

export type Lacking = ReturnType<typeof createLacking>

/** Of whom the folds of one version leave out events on which nobody has decided. The event of each is read once. */
export function createLacking(deadLetters: Pick<DeadLetters, 'letters' | 'event'>, fold: FoldVersion) {
  const owners = new Map<Position, WorkspaceId | undefined>()
  let lacking: readonly WorkspaceId[] = []
  /** Undefined where its event is gone, or cannot be read: what is folded does not wait for that. */
  const ownerOf = async (position: Position): Promise<WorkspaceId | undefined> => {
    try {
      return (await deadLetters.event(position))?.workspaceId
    } catch (error) {
      if (error instanceof TransientError) throw error
      return undefined
    }
  }
  return {
    workspaces: (): readonly WorkspaceId[] => lacking,
    /** Looks again, as after a decision. Returns the letters. */
    async look(): Promise<readonly DeadLetter[]> {
      const letters = await deadLetters.letters(fold)
      const open = letters.filter(({ state }) => state === 'open')
      for (const { position } of open) {
        if (!owners.has(position)) owners.set(position, await ownerOf(position))
      }
      lacking = [...new Set(open.flatMap(({ position }) => owners.get(position) ?? []))].sort()
      return letters
    },
  }
}
