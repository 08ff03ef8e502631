import { positionStep, type Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { callApi } from './api.ts'
import type { Nats } from './nats.ts'
import type { LogName, Subjects } from './subjects.ts'

/** `erase` of the port. The server purges each of the workspace's subjects up to a sequence in one step, which leaves holes. */
export async function eraseFrom(
  nats: Nats,
  log: LogName,
  subjects: Subjects,
  { workspaceId, upTo }: Readonly<{ workspaceId: WorkspaceId; upTo: Position }>,
): Promise<void> {
  const subject = `stream ${log.stream}`
  const seq = Math.floor(upTo / positionStep) + 1
  for (const filter of subjects.ofWorkspace(workspaceId)) {
    await callApi(nats, `STREAM.PURGE.${log.stream}`, { filter, seq }, { operation: 'erase from', subject })
  }
}

/** `isLeft` of the port, by what the server counts under the workspace's subjects. */
export async function isLeftIn(
  nats: Nats,
  log: LogName,
  subjects: Subjects,
  workspaceId: WorkspaceId,
): Promise<boolean> {
  const subject = `stream ${log.stream}`
  for (const filter of subjects.ofWorkspace(workspaceId)) {
    const body = { subjects_filter: filter }
    const answer = await callApi(nats, `STREAM.INFO.${log.stream}`, body, { operation: 'search', subject })
    const { state } = answer as { state?: { subjects?: Readonly<Record<string, number>> } }
    if (Object.keys(state?.subjects ?? {}).length > 0) return true
  }
  return false
}
