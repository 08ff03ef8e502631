import { decodeDirectoryEvent, type DirectoryEvent } from '#src/events/directory.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import type { AuditTrail } from './audit-trail.ts'

/** A recorded action in a workspace. */
export type AuditEntry = Readonly<{ at: number; position: Position; event: DirectoryEvent }>
/** `next`: where the entries before these start; null at the end. */
export type AuditPage = Readonly<{ entries: readonly AuditEntry[]; next: Position | null }>

/** Entries before a position, newest first, read from the log. */
export async function readAudit(
  { stream, trail }: Readonly<{ stream: Stream; trail: AuditTrail }>,
  workspaceId: WorkspaceId,
  { before, limit }: Readonly<{ before: Position; limit: number }>,
): Promise<AuditPage> {
  const positions = trail.before(workspaceId, before, limit + 1)
  const shown = positions.slice(0, limit)
  const read = await Promise.all(shown.map((position) => stream.read(position - 1, 1)))
  const entries = read.flat().map((recorded) => {
    const { receivedAt: at, position } = recorded
    return { at, position, event: decodeDirectoryEvent(recorded) }
  })
  return { entries, next: positions.length > limit ? (shown.at(-1) ?? null) : null }
}
