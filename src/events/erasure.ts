import type { NewEvent, RecordedEvent } from './envelope.ts'
import { sealFact } from './fact.ts'
import { workspaceIdOf, type WorkspaceId } from './workspace-id.ts'

/** Every erasure's subject starts like this. */
export const erasuresSubject = 'erased'
/** Subject of a workspace's erasures; the newest one counts. */
export const erasureSubject = (workspaceId: WorkspaceId): string => `${erasuresSubject}.${workspaceId}`

/**
 * Says that everything of its workspace before this event is erased, from the log and from what is folded from it. It names no position, so
 * it means the same in a log that was moved, where positions differ. Schema version 1, no payload. `at` in ms; `unique`: 32 hex characters
 * that no other event has.
 */
export function sealErasure(
  workspaceId: WorkspaceId,
  { at, unique }: Readonly<{ at: number; unique: string }>,
): NewEvent {
  const header = { id: `${workspaceId}.workspace.${unique}`, type: 'workspace.erased', workspaceId, at } as const
  return sealFact({ ...header, retentionClass: 'erasure', subject: erasureSubject(workspaceId) }, {})
}

/** No workspace of the directory is called like this. */
const nobody = workspaceIdOf('lost-messages')

/** An erasure of no workspace: says that what is missing before it is given up, whosever it was. */
export const sealLoss = (given: Readonly<{ at: number; unique: string }>): NewEvent => sealErasure(nobody, given)

export const isErasure = ({ type }: Pick<RecordedEvent, 'type'>): boolean => type === 'workspace.erased'
