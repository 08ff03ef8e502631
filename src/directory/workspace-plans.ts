import { decodeDirectoryEvent } from '#src/events/directory.ts'
import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import type { Keeping } from '#src/events/retention.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { readCurrent } from '#streams/follow.ts'
import type { Stream } from '#streams/stream.ts'
import type { Workspace } from './directory.ts'
import { keepingOf, planNamed, withPlan, type Plans } from './plans.ts'

/** How long each workspace's records are kept, for processes and threads without a directory. */
type WorkspacePlans = Readonly<{
  /** For all workspaces, by the directory as it is now. */
  read(): Promise<ReadonlyMap<WorkspaceId, Keeping>>
}>

const eventsAtOnce = 512

/** Reads new events of the directory's stream each time it is asked. */
export function createWorkspacePlans(stream: Pick<Stream, 'read'>, plans: Plans): WorkspacePlans {
  const workspaces = new Map<WorkspaceId, Workspace>()
  let position: Position = beforeAll

  function apply(recorded: RecordedEvent): void {
    const event = decodeDirectoryEvent(recorded)
    const { receivedAt } = recorded
    if (event.type === 'directory.workspace.created') {
      const { workspaceId: id, name, plan } = event
      workspaces.set(id, { id, name, plan: planNamed(plans, plan), createdAt: receivedAt })
    }
    if (event.type === 'directory.workspace.planChanged') {
      const workspace = workspaces.get(event.workspaceId)
      if (workspace === undefined) return
      workspaces.set(workspace.id, withPlan(workspace, planNamed(plans, event.plan), receivedAt))
    }
    if (event.type === 'directory.workspace.erased') workspaces.delete(event.workspaceId)
  }

  async function catchUp(): Promise<void> {
    for (;;) {
      const events = await readCurrent(stream, position, eventsAtOnce)
      if (events.length === 0) return
      for (const event of events) {
        apply(event)
        position = event.position
      }
    }
  }

  return {
    read: async () => {
      await catchUp()
      return new Map([...workspaces].map(([id, workspace]) => [id, keepingOf(workspace)]))
    },
  }
}
