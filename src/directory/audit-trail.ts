import type { DirectoryEvent } from '#src/events/directory.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'

/** How many events of a workspace and kind its audit shows. The log itself keeps all. */
const positionsMax = 10_000

/** The workspace an event concerns, if the event does not name it. Asked before the event is folded in. */
export type AuditLookups = Readonly<{
  workspacesOfUser: (userId: string) => readonly WorkspaceId[]
  workspaceOfSession: (session: string) => WorkspaceId | undefined
}>

/** The workspaces whose audit shows an event. */
export function auditedWorkspaces(event: DirectoryEvent, lookups: AuditLookups): readonly WorkspaceId[] {
  if ('workspaceId' in event) return [event.workspaceId]
  if (event.type === 'directory.session.ended') {
    const workspaceId = lookups.workspaceOfSession(event.session)
    return workspaceId === undefined ? [] : [workspaceId]
  }
  const isOfPerson = event.type === 'directory.user.passwordChanged' || event.type === 'directory.signIn.failed'
  // The rest is not audited: a session in use, or a person who is not yet a member of any workspace.
  return isOfPerson && event.userId !== null ? lookups.workspacesOfUser(event.userId) : []
}

/** Refused sign-ins are counted apart: anybody can cause many, and they must not push out other entries. */
type AuditKind = 'deed' | 'refused'
export const auditKindOf = ({ type }: Pick<DirectoryEvent, 'type'>): AuditKind =>
  type === 'directory.signIn.failed' ? 'refused' : 'deed'

export type AuditTrail = Readonly<{
  note(workspaceId: WorkspaceId, position: Position, kind: AuditKind): void
  /** Positions before one, newest first. */
  before(workspaceId: WorkspaceId, position: Position, max: number): readonly Position[]
}>

function createPositions() {
  const positions = new Map<WorkspaceId, Position[]>()
  return {
    add(workspaceId: WorkspaceId, position: Position): void {
      const known = positions.get(workspaceId) ?? []
      if (known.push(position) === 1) positions.set(workspaceId, known)
      // In steps, because removing one moves all others.
      if (known.length > positionsMax * 1.1) known.splice(0, known.length - positionsMax)
    },
    before(workspaceId: WorkspaceId, position: Position, max: number): readonly Position[] {
      const known = positions.get(workspaceId) ?? []
      const end = known.findLastIndex((each) => each < position) + 1
      return known.slice(Math.max(0, end - max), end)
    },
  }
}

/** The log positions of each workspace's audited events. Only numbers, so that years of them fit in memory. */
export function createAuditTrail(): AuditTrail {
  const of = { deed: createPositions(), refused: createPositions() }
  return {
    note: (workspaceId, position, kind) => of[kind].add(workspaceId, position),
    before(workspaceId, position, max) {
      const found = Object.values(of).flatMap((positions) => positions.before(workspaceId, position, max))
      return found.sort((a, b) => b - a).slice(0, max)
    },
  }
}
