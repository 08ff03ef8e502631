import { createHash } from 'node:crypto'
import { decodeDirectoryEvent } from '#src/events/directory.ts'
import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { addressGroup } from '#src/lib/address-group.ts'
import type { Clock } from '#src/lib/clock.ts'
import { auditedWorkspaces, auditKindOf, createAuditTrail, type AuditLookups, type AuditTrail } from './audit-trail.ts'
import {
  emptyDirectory,
  foldDirectoryEvent,
  type DirectoryState,
  type ErasedWorkspace,
  type HeldSession,
  type SessionLimits,
} from './directory-state.ts'
import type { DirectoryView, Key, Member, Session, User, Workspace } from './directory.ts'
import { hashKey, isWellFormedKey } from './keys.ts'
import { nameKey, normalEmail } from './normal-form.ts'
import { createPepperCheck } from './pepper.ts'
import type { Plans } from './plans.ts'

/** The view of the directory, extended by what sign-in, the pages and the command line need. */
export interface DirectoryReads extends DirectoryView {
  /** True when there was no workspace yet: a new installation. */
  isEmpty(): boolean
  workspaces(): readonly Workspace[]
  /** By name, ignoring case, or else by id. */
  workspaceNamed(nameOrId: string): Workspace | undefined
  /** Erased workspaces, in order; `workspaces` does not include them. */
  erasedWorkspaces(): readonly ErasedWorkspace[]
  key(id: string): Key | undefined
  user(id: string): User | undefined
  /** By e-mail address, ignoring case. */
  userByEmail(email: string): User | undefined
  members(workspaceId: WorkspaceId): readonly Member[]
  password(userId: string): Readonly<{ hash: string; position: Position }> | undefined
  /** True when the person has signed in from there before, of IPv6 from the same /64 (the last few are known). */
  isKnownAddress(userId: string, address: string): boolean
  /** When the session was last recorded as in use, ms; undefined when there is no such session. */
  sessionSeenAt(id: string): number | undefined
}

export interface HeldView extends DirectoryReads {
  readonly trail: AuditTrail
  /** Folds one event in. The same events give the same view in every process. */
  apply(event: RecordedEvent): void
}

/** The session id in a cookie is never stored: sessions are known by this hash of it, 64 hex characters. */
export const sessionHashOf = (id: string): string => createHash('sha256').update(id).digest('hex')

/** A rotated key is revoked when its overlap ends, in every process by its own clock, without another event. */
function keyAsOf(key: Key | undefined, now: number): Key | undefined {
  if (key === undefined || key.worksUntil === null || key.worksUntil > now) return key
  return { ...key, revokedAt: Math.min(key.revokedAt ?? key.worksUntil, key.worksUntil) }
}

const auditLookups = (state: DirectoryState): AuditLookups => ({
  workspacesOfUser: (userId) => state.users.get(userId)?.user.workspaceIds ?? [],
  workspaceOfSession: (session) => state.sessions.get(session)?.workspaceId,
})

function workspaceReads(
  state: DirectoryState,
): Pick<HeldView, 'isEmpty' | 'workspace' | 'workspaces' | 'erasedWorkspaces' | 'workspaceNamed'> {
  return {
    isEmpty: () => state.workspaces.size + state.erased.size === 0,
    workspace: (id) => state.workspaces.get(id)?.workspace,
    workspaces: () => [...state.workspaces.values()].map(({ workspace }) => workspace),
    erasedWorkspaces: () => [...state.erased.values()],
    workspaceNamed: (nameOrId) => {
      const id = state.workspaceIdsByName.get(nameKey(nameOrId)) ?? nameOrId
      return state.workspaces.get(id)?.workspace
    },
  }
}

type Options = Readonly<{ plans: Plans; pepper: string; clock: Clock; limits: SessionLimits }>

/** An empty view; `apply` makes it the view of the log. */
export function createDirectoryView({ plans, pepper, clock, limits }: Options): HeldView {
  const state = emptyDirectory()
  const trail = createAuditTrail()
  const lookups = auditLookups(state)
  const checkPepper = createPepperCheck(pepper)
  const memberOf = (workspaceId: string, userId: string): boolean =>
    state.workspaces.get(workspaceId)?.members.has(userId) ?? false

  function liveSession(id: string): HeldSession | undefined {
    const session = state.sessions.get(sessionHashOf(id))
    if (session === undefined || !memberOf(session.workspaceId, session.userId)) return undefined
    const now = clock()
    const isOver =
      now - session.startedAt >= limits.sessionAbsoluteMs || now - session.lastSeenAt >= limits.sessionIdleMs
    return isOver ? undefined : session
  }

  return {
    trail,
    position: () => state.position,
    apply: (recorded) => {
      const at = { at: recorded.receivedAt, position: recorded.position }
      const event = decodeDirectoryEvent(recorded)
      checkPepper(event)
      for (const workspaceId of auditedWorkspaces(event, lookups)) {
        trail.note(workspaceId, at.position, auditKindOf(event))
      }
      foldDirectoryEvent(state, event, at, { plans, limits })
      state.position = recorded.position
    },
    ...workspaceReads(state),
    findKey: (secret) => {
      if (!isWellFormedKey(secret)) return undefined
      return keyAsOf(state.keys.get(state.keyIdsByHash.get(hashKey(pepper, secret)) ?? ''), clock())
    },
    key: (id) => keyAsOf(state.keys.get(id), clock()),
    keys: (workspaceId) => {
      const now = clock()
      return (state.workspaces.get(workspaceId)?.keyIds ?? []).flatMap((id) => {
        const key = keyAsOf(state.keys.get(id), now)
        return key === undefined ? [] : [key]
      })
    },
    user: (id) => state.users.get(id)?.user,
    userByEmail: (email) => state.users.get(state.userIdsByEmail.get(normalEmail(email)) ?? '')?.user,
    members: (workspaceId) =>
      [...(state.workspaces.get(workspaceId)?.members ?? [])].map(([userId, { role, addedAt }]) => ({
        userId,
        email: state.users.get(userId)?.user.email ?? '',
        role,
        addedAt,
      })),
    isMember: memberOf,
    password: (userId) => {
      const held = state.users.get(userId)
      return held && { hash: held.passwordHash, position: held.passwordPosition }
    },
    passwordPosition: (userId) => state.users.get(userId)?.passwordPosition ?? 0,
    isKnownAddress: (userId, address) => state.users.get(userId)?.addresses.includes(addressGroup(address)) ?? false,
    session: (id) => {
      const session = liveSession(id)
      const user = session && state.users.get(session.userId)?.user
      if (session === undefined || user === undefined) return undefined
      const { userId, workspaceId, startedAt } = session
      return { id, userId, email: user.email, workspaceId, startedAt } satisfies Session
    },
    sessionSeenAt: (id) => liveSession(id)?.lastSeenAt,
  }
}
