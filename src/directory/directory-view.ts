import { createHash } from 'node:crypto'
import type { Limits } from '#src/config.ts'
import { decodeDirectoryEvent, type DirectoryEvent } from '#src/events/directory.ts'
import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Clock } from '#src/lib/clock.ts'
import { auditedWorkspaces, auditKindOf, createAuditTrail, type AuditLookups, type AuditTrail } from './audit-trail.ts'
import type { DirectoryView, Key, Member, MemberRole, Session, User, Workspace } from './directory.ts'
import { hashKey, isWellFormedKey } from './keys.ts'
import { createPepperCheck } from './pepper.ts'
import { planNamed, withPlan, type Plans } from './plans.ts'

/** How many addresses are remembered for a person. */
const addressesPerUserMax = 10

/** Limits of sessions; beyond `sessionsPerUserMax` a person's oldest ones end. */
export type SessionLimits = Pick<Limits, 'sessionIdleMs' | 'sessionAbsoluteMs' | 'sessionsPerUserMax'>

type HeldWorkspace = {
  workspace: Workspace
  members: Map<string, { role: MemberRole; addedAt: number }>
  keyIds: string[]
}
type HeldUser = {
  user: User
  passwordHash: string
  passwordPosition: Position
  sessions: Set<string>
  addresses: string[]
}
type HeldSession = { userId: string; workspaceId: WorkspaceId; startedAt: number; lastSeenAt: number }

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
  /** True when the person has signed in from there before (the last few addresses are known). */
  isKnownAddress(userId: string, address: string): boolean
  /** When the session was last recorded as in use, ms; undefined when there is no such session. */
  sessionSeenAt(id: string): number | undefined
}

/** An erased workspace. `position`: of the event of its erasure. */
export type ErasedWorkspace = Readonly<{ id: WorkspaceId; name: string; position: Position }>

export interface HeldView extends DirectoryReads {
  readonly trail: AuditTrail
  /** Folds one event in. The same events give the same view in every process. */
  apply(event: RecordedEvent): void
}

/** The session id in a cookie is never stored: sessions are known by this hash of it, 64 hex characters. */
export const sessionHashOf = (id: string): string => createHash('sha256').update(id).digest('hex')

/** E-mail addresses are compared in this form: trimmed and in lower case (mail systems ignore case). */
export const normalEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase()
export const normalName = (name: string): string => name.trim().normalize('NFC')
/** The form in which workspace names are compared: ignoring case. */
export const nameKey = (name: string): string => normalName(name).toLowerCase()

type State = {
  position: Position
  workspaces: Map<string, HeldWorkspace>
  workspaceIdsByName: Map<string, WorkspaceId>
  erased: Map<WorkspaceId, ErasedWorkspace>
  keys: Map<string, Key>
  keyIdsByHash: Map<string, string>
  users: Map<string, HeldUser>
  userIdsByEmail: Map<string, string>
  sessions: Map<string, HeldSession>
}
type At = Readonly<{ at: number; position: Position }>
type Fact<Type extends DirectoryEvent['type']> = Extract<DirectoryEvent, { type: Type }>

function endSession(state: State, hash: string): void {
  const session = state.sessions.get(hash)
  if (session === undefined) return
  state.sessions.delete(hash)
  state.users.get(session.userId)?.sessions.delete(hash)
}

function endSessionsIn(state: State, user: HeldUser, workspaceId: WorkspaceId): void {
  for (const hash of user.sessions) if (state.sessions.get(hash)?.workspaceId === workspaceId) endSession(state, hash)
}

/** Sessions are nearly in order of their start: the first that is young enough ends the walk; look-ups ignore expired ones behind it. */
function dropExpired(state: State, now: number, limits: SessionLimits): void {
  for (const [hash, { startedAt }] of state.sessions) {
    if (now - startedAt < limits.sessionAbsoluteMs) return
    endSession(state, hash)
  }
}

function startSession(state: State, event: Fact<'directory.session.started'>, { at }: At, limits: SessionLimits): void {
  dropExpired(state, at, limits)
  const user = state.users.get(event.userId)
  if (user === undefined || user.passwordPosition !== event.passwordPosition) return
  const { userId, workspaceId, session, address, since = at } = event
  state.sessions.set(session, { userId, workspaceId, startedAt: Math.min(since, at), lastSeenAt: at })
  user.sessions.add(session)
  const [oldest] = user.sessions
  if (user.sessions.size > limits.sessionsPerUserMax && oldest !== undefined) endSession(state, oldest)
  if (address !== '') {
    user.addresses = [address, ...user.addresses.filter((known) => known !== address)].slice(0, addressesPerUserMax)
  }
}

function changePassword(state: State, event: Fact<'directory.user.passwordChanged'>, { position }: At): void {
  const user = state.users.get(event.userId)
  const { passwordPosition: given = position } = event
  // Decided here, in the order of the log: another may have been set since the one that was given for this was checked.
  if (user === undefined || user.passwordPosition > given) return
  user.passwordHash = event.passwordHash
  user.passwordPosition = position
  for (const hash of user.sessions) endSession(state, hash)
}

function changeMember(
  state: State,
  event: Fact<'directory.member.added' | 'directory.member.removed'>,
  { at }: At,
): void {
  const workspace = state.workspaces.get(event.workspaceId)
  const held = state.users.get(event.userId)
  if (workspace === undefined || held === undefined) return
  const others = held.user.workspaceIds.filter((id) => id !== event.workspaceId)
  if (event.type === 'directory.member.removed') {
    // Decided here, in the order of the log: so two concurrent removals cannot leave a workspace without members.
    if (workspace.members.size === 1) return
    workspace.members.delete(event.userId)
    held.user = { ...held.user, workspaceIds: others }
    endSessionsIn(state, held, event.workspaceId)
    return
  }
  // An existing member gets the new role.
  const before = workspace.members.get(event.userId)
  workspace.members.set(event.userId, { role: event.role, addedAt: before?.addedAt ?? at })
  if (before === undefined) held.user = { ...held.user, workspaceIds: [...others, event.workspaceId] }
}

function createKey(state: State, event: Fact<'directory.key.created'>, { at }: At): void {
  const { keyId, workspaceId, kind, scopes, name, prefix, last4, origins, hash } = event
  const shown = { id: keyId, workspaceId, kind, scopes, name, prefix, last4, origins }
  state.keys.set(keyId, { ...shown, createdAt: at, revokedAt: null, worksUntil: null, exposed: false })
  state.keyIdsByHash.set(hash, keyId)
  state.workspaces.get(workspaceId)?.keyIds.push(keyId)
}

/** A key changes only by an event of its own workspace. */
function changeKey(
  state: State,
  event: Readonly<{ keyId: string; workspaceId: WorkspaceId }>,
  change: Partial<Key>,
): void {
  const key = state.keys.get(event.keyId)
  if (key?.workspaceId === event.workspaceId) state.keys.set(key.id, { ...key, ...change })
}

/** A rotated key is revoked when its overlap ends, in every process by its own clock, without another event. */
function keyAsOf(key: Key | undefined, now: number): Key | undefined {
  if (key === undefined || key.worksUntil === null || key.worksUntil > now) return key
  return { ...key, revokedAt: Math.min(key.revokedAt ?? key.worksUntil, key.worksUntil) }
}

function createUser(state: State, event: Fact<'directory.user.created'>, { position }: At): void {
  const { userId, email, passwordHash } = event
  const user = { id: userId, email, workspaceIds: [] }
  const own = { sessions: new Set<string>(), addresses: [] }
  state.users.set(userId, { user, passwordHash, passwordPosition: position, ...own })
  state.userIdsByEmail.set(normalEmail(email), userId)
}

function createWorkspace(state: State, event: Fact<'directory.workspace.created'>, { at }: At, plans: Plans): void {
  const { workspaceId, name, plan } = event
  const workspace = { id: workspaceId, name, plan: planNamed(plans, plan), createdAt: at }
  state.workspaces.set(workspaceId, { workspace, members: new Map(), keyIds: [] })
  state.workspaceIdsByName.set(nameKey(name), workspaceId)
}

/** Ends everything that gives access to the workspace: keys, sessions, memberships. */
function eraseWorkspace(state: State, event: Fact<'directory.workspace.erased'>, { at, position }: At): void {
  const { workspaceId, name } = event
  const held = state.workspaces.get(workspaceId)
  // If two processes erase it at once, the later event counts: a new workspace of the same name comes after that one.
  if (held !== undefined || state.erased.has(workspaceId)) {
    state.erased.set(workspaceId, { id: workspaceId, name, position })
  }
  if (held === undefined) return
  state.workspaces.delete(workspaceId)
  state.workspaceIdsByName.delete(nameKey(name))
  for (const keyId of held.keyIds) changeKey(state, { keyId, workspaceId }, { revokedAt: at })
  for (const userId of held.members.keys()) {
    const of = state.users.get(userId)
    if (of === undefined) continue
    of.user = { ...of.user, workspaceIds: of.user.workspaceIds.filter((id) => id !== workspaceId) }
    endSessionsIn(state, of, workspaceId)
  }
}

function continueSession(state: State, hash: string, at: number): void {
  const session = state.sessions.get(hash)
  if (session !== undefined) session.lastSeenAt = Math.max(session.lastSeenAt, at)
}

type Context = Readonly<{ plans: Plans; limits: SessionLimits }>
type Folds = {
  [Type in DirectoryEvent['type']]: (state: State, event: Fact<Type>, at: At, context: Context) => void
}

const onlyForTheAudit = (): void => undefined

const folds: Folds = {
  'directory.workspace.created': (state, event, at, { plans }) => createWorkspace(state, event, at, plans),
  'directory.workspace.planChanged': (state, event, { at }, { plans }) => {
    const held = state.workspaces.get(event.workspaceId)
    if (held !== undefined) held.workspace = withPlan(held.workspace, planNamed(plans, event.plan), at)
  },
  'directory.workspace.erased': eraseWorkspace,
  'directory.user.created': createUser,
  'directory.user.passwordChanged': changePassword,
  'directory.member.added': changeMember,
  'directory.member.removed': changeMember,
  'directory.key.created': createKey,
  'directory.key.revoked': (state, event, { at }) => {
    // The first revocation counts.
    changeKey(state, event, { revokedAt: state.keys.get(event.keyId)?.revokedAt ?? at })
  },
  'directory.key.rotated': (state, event) => {
    // The first rotation counts: its successor is the key that was handed out.
    changeKey(state, event, { worksUntil: state.keys.get(event.keyId)?.worksUntil ?? event.worksUntil })
  },
  'directory.key.exposed': (state, event) => changeKey(state, event, { exposed: true }),
  'directory.key.originsChanged': (state, event) => changeKey(state, event, { origins: event.origins }),
  'directory.session.started': (state, event, at, { limits }) => startSession(state, event, at, limits),
  'directory.session.continued': (state, { session }, { at }) => continueSession(state, session, at),
  'directory.session.ended': (state, { session }) => endSession(state, session),
  'directory.signIn.failed': onlyForTheAudit,
  'directory.logs.exported': onlyForTheAudit,
}

function fold<Type extends DirectoryEvent['type']>(state: State, event: Fact<Type>, at: At, context: Context): void {
  const foldOne = folds[event.type]
  foldOne(state, event, at, context)
}

function emptyState(): State {
  return {
    position: beforeAll,
    workspaces: new Map(),
    workspaceIdsByName: new Map(),
    erased: new Map(),
    keys: new Map(),
    keyIdsByHash: new Map(),
    users: new Map(),
    userIdsByEmail: new Map(),
    sessions: new Map(),
  }
}

const auditLookups = (state: State): AuditLookups => ({
  workspacesOfUser: (userId) => state.users.get(userId)?.user.workspaceIds ?? [],
  workspaceOfSession: (session) => state.sessions.get(session)?.workspaceId,
})

function workspaceReads(
  state: State,
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
  const state = emptyState()
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
      fold(state, event, at, { plans, limits })
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
    isKnownAddress: (userId, address) => state.users.get(userId)?.addresses.includes(address) ?? false,
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
