import type { NewEvent, RecordedEvent } from './envelope.ts'
import { sealFact } from './fact.ts'
import type { WorkspaceId } from './workspace-id.ts'

/** Subjects of all erasures of a log begin so. */
export const erasuresSubject = 'erased'
/** Subject of a workspace's erasures: the newest is the one that counts. */
export const erasureSubject = (workspaceId: WorkspaceId): string => `${erasuresSubject}.${workspaceId}`

/**
 * The event that says that all that stands before it of its workspace is erased, from the log and from what is folded from it. It names
 * no position: so it means the same in a log that was moved, where positions are others. Schema version 1, no payload.
 * `at` in ms; `unique`: 32 hex characters that no other event has.
 */
export function sealErasure(
  workspaceId: WorkspaceId,
  { at, unique }: Readonly<{ at: number; unique: string }>,
): NewEvent {
  const header = { id: `${workspaceId}.workspace.${unique}`, type: 'workspace.erased', workspaceId, at } as const
  return sealFact({ ...header, retentionClass: 'erasure', subject: erasureSubject(workspaceId) }, {})
}

export const isErasure = ({ type }: Pick<RecordedEvent, 'type'>): boolean => type === 'workspace.erased'
