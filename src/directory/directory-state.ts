import type { Limits } from '#src/config.ts'
import type { DirectoryEvent } from '#src/events/directory.ts'
import { beforeAll, type Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { addressGroup } from '#src/lib/address-group.ts'
import type { Key, MemberRole, User, Workspace } from './directory.ts'
import { nameKey, normalEmail } from './normal-form.ts'
import { planNamed, withPlan, type Plans } from './plans.ts'

/** How many addresses are remembered for a person. */
const addressesPerUserMax = 10

/** Limits of sessions; beyond `sessionsPerUserMax` a person's oldest ones end. */
export type SessionLimits = Pick<Limits, 'sessionIdleMs' | 'sessionAbsoluteMs' | 'sessionsPerUserMax'>

/** An erased workspace. `position`: of the event of its erasure. */
export type ErasedWorkspace = Readonly<{ id: WorkspaceId; name: string; position: Position }>

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
export type HeldSession = { userId: string; workspaceId: WorkspaceId; startedAt: number; lastSeenAt: number }

/** What all events of the directory so far add up to. */
export type DirectoryState = {
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

function endSession(state: DirectoryState, hash: string): void {
  const session = state.sessions.get(hash)
  if (session === undefined) return
  state.sessions.delete(hash)
  state.users.get(session.userId)?.sessions.delete(hash)
}

function endSessionsIn(state: DirectoryState, user: HeldUser, workspaceId: WorkspaceId): void {
  for (const hash of user.sessions) if (state.sessions.get(hash)?.workspaceId === workspaceId) endSession(state, hash)
}

/** Sessions are nearly in order of their start: the first that is young enough ends the walk; look-ups ignore expired ones behind it. */
function dropExpired(state: DirectoryState, now: number, limits: SessionLimits): void {
  for (const [hash, { startedAt }] of state.sessions) {
    if (now - startedAt < limits.sessionAbsoluteMs) return
    endSession(state, hash)
  }
}

function startSession(
  state: DirectoryState,
  event: Fact<'directory.session.started'>,
  { at }: At,
  limits: SessionLimits,
): void {
  dropExpired(state, at, limits)
  const user = state.users.get(event.userId)
  if (user === undefined || user.passwordPosition !== event.passwordPosition) return
  const { userId, workspaceId, session, address, since = at } = event
  state.sessions.set(session, { userId, workspaceId, startedAt: Math.min(since, at), lastSeenAt: at })
  user.sessions.add(session)
  const [oldest] = user.sessions
  if (user.sessions.size > limits.sessionsPerUserMax && oldest !== undefined) endSession(state, oldest)
  if (address !== '') {
    // A device changes its IPv6 address every day within its /64.
    const group = addressGroup(address)
    user.addresses = [group, ...user.addresses.filter((known) => known !== group)].slice(0, addressesPerUserMax)
  }
}

function changePassword(state: DirectoryState, event: Fact<'directory.user.passwordChanged'>, { position }: At): void {
  const user = state.users.get(event.userId)
  const { passwordPosition: given = position } = event
  // Decided here, in the order of the log: another may have been set since the one that was given for this was checked.
  if (user === undefined || user.passwordPosition > given) return
  user.passwordHash = event.passwordHash
  user.passwordPosition = position
  for (const hash of user.sessions) endSession(state, hash)
}

function changeMember(
  state: DirectoryState,
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

function createKey(state: DirectoryState, event: Fact<'directory.key.created'>, { at }: At): void {
  const { keyId, workspaceId, kind, scopes, name, prefix, last4, origins, hash } = event
  const shown = { id: keyId, workspaceId, kind, scopes, name, prefix, last4, origins }
  state.keys.set(keyId, { ...shown, createdAt: at, revokedAt: null, worksUntil: null, exposed: false })
  state.keyIdsByHash.set(hash, keyId)
  state.workspaces.get(workspaceId)?.keyIds.push(keyId)
}

/** A key changes only by an event of its own workspace. */
function changeKey(
  state: DirectoryState,
  event: Readonly<{ keyId: string; workspaceId: WorkspaceId }>,
  change: Partial<Key>,
): void {
  const key = state.keys.get(event.keyId)
  if (key?.workspaceId === event.workspaceId) state.keys.set(key.id, { ...key, ...change })
}

function createUser(state: DirectoryState, event: Fact<'directory.user.created'>, { position }: At): void {
  const { userId, email, passwordHash } = event
  const user = { id: userId, email, workspaceIds: [] }
  const own = { sessions: new Set<string>(), addresses: [] }
  state.users.set(userId, { user, passwordHash, passwordPosition: position, ...own })
  state.userIdsByEmail.set(normalEmail(email), userId)
}

function createWorkspace(
  state: DirectoryState,
  event: Fact<'directory.workspace.created'>,
  { at }: At,
  plans: Plans,
): void {
  const { workspaceId, name, plan } = event
  const workspace = { id: workspaceId, name, plan: planNamed(plans, plan), createdAt: at }
  state.workspaces.set(workspaceId, { workspace, members: new Map(), keyIds: [] })
  state.workspaceIdsByName.set(nameKey(name), workspaceId)
}

/** Ends everything that gives access to the workspace: keys, sessions, memberships. */
function eraseWorkspace(state: DirectoryState, event: Fact<'directory.workspace.erased'>, { at, position }: At): void {
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

function continueSession(state: DirectoryState, hash: string, at: number): void {
  const session = state.sessions.get(hash)
  if (session !== undefined) session.lastSeenAt = Math.max(session.lastSeenAt, at)
}

type Context = Readonly<{ plans: Plans; limits: SessionLimits }>
type Folds = {
  [Type in DirectoryEvent['type']]: (state: DirectoryState, event: Fact<Type>, at: At, context: Context) => void
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

/** Folds one event in. */
export function foldDirectoryEvent<Type extends DirectoryEvent['type']>(
  state: DirectoryState,
  event: Fact<Type>,
  at: At,
  context: Context,
): void {
  const foldOne = folds[event.type]
  foldOne(state, event, at, context)
}

export function emptyDirectory(): DirectoryState {
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
