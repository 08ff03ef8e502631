import type { DirectoryEvent } from '#src/events/directory.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'

/** Events of a workspace that its audit reaches back to; the log itself keeps all. */
const positionsMax = 10_000

/** What an event is about, where it does not say so itself: asked before the event is folded in. */
export type AuditLookups = Readonly<{
  workspacesOfUser: (userId: string) => readonly WorkspaceId[]
  workspaceOfSession: (session: string) => WorkspaceId | undefined
}>

/** The workspaces in whose audit an event stands. */
export function auditedWorkspaces(event: DirectoryEvent, lookups: AuditLookups): readonly WorkspaceId[] {
  if ('workspaceId' in event) return [event.workspaceId]
  if (event.type === 'directory.session.ended') {
    const workspaceId = lookups.workspaceOfSession(event.session)
    return workspaceId === undefined ? [] : [workspaceId]
  }
  const isOfPerson = event.type === 'directory.user.passwordChanged' || event.type === 'directory.signIn.failed'
  // The rest is no deed: a session in use, a person who belongs to nobody until they are made a member.
  return isOfPerson && event.userId !== null ? lookups.workspacesOfUser(event.userId) : []
}

export type AuditTrail = Readonly<{
  note(workspaceId: WorkspaceId, position: Position): void
  /** Positions before one, the newest first. */
  before(workspaceId: WorkspaceId, position: Position, max: number): readonly Position[]
}>

/** Where in the log the audited events of each workspace stand: numbers only, so that years of them fit in memory. */
export function createAuditTrail(): AuditTrail {
  const trails = new Map<WorkspaceId, Position[]>()
  return {
    note: (workspaceId, position) => {
      const trail = trails.get(workspaceId) ?? []
      if (trail.push(position) === 1) trails.set(workspaceId, trail)
      // In steps, because taking one away moves all others.
      if (trail.length > positionsMax * 1.1) trail.splice(0, trail.length - positionsMax)
    },
    before: (workspaceId, position, max) => {
      const trail = trails.get(workspaceId) ?? []
      const end = trail.findLastIndex((each) => each < position) + 1
      return trail.slice(Math.max(0, end - max), end).reverse()
    },
  }
}
