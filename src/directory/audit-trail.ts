import type { DirectoryEvent } from '#src/events/directory.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'

/** Events of a workspace and a kind that its audit reaches back to; the log itself keeps all. */
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

/** What was refused is no deed: anybody may make many of it, and the deeds are not to go for it. */
type AuditKind = 'deed' | 'refused'
export const auditKindOf = ({ type }: Pick<DirectoryEvent, 'type'>): AuditKind =>
  type === 'directory.signIn.failed' ? 'refused' : 'deed'

export type AuditTrail = Readonly<{
  note(workspaceId: WorkspaceId, position: Position, kind: AuditKind): void
  /** Positions before one, the newest first. */
  before(workspaceId: WorkspaceId, position: Position, max: number): readonly Position[]
}>

function createPositions() {
  const positions = new Map<WorkspaceId, Position[]>()
  return {
    add(workspaceId: WorkspaceId, position: Position): void {
      const known = positions.get(workspaceId) ?? []
      if (known.push(position) === 1) positions.set(workspaceId, known)
      // In steps, because taking one away moves all others.
      if (known.length > positionsMax * 1.1) known.splice(0, known.length - positionsMax)
    },
    before(workspaceId: WorkspaceId, position: Position, max: number): readonly Position[] {
      const known = positions.get(workspaceId) ?? []
      const end = known.findLastIndex((each) => each < position) + 1
      return known.slice(Math.max(0, end - max), end)
    },
  }
}

/** Where in the log the audited events of each workspace stand: numbers only, so that years of them fit in memory. */
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
