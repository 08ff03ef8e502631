import type { Position } from '#src/events/envelope.ts'
import type { PastPlan } from '#src/events/retention.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'

export type Feature = 'logs' | 'tracing' | 'api_access'
export type KeyKind = 'publishable' | 'logs' | 'tracing' | 'api'
export type KeyScope = 'rum:write' | 'logs:write' | 'traces:write' | 'traces:read'

// Times in this file are milliseconds since the Unix epoch.

export type WorkspacePlan = Readonly<{
  name: string
  features: readonly Feature[]
  /** By calendar month (UTC); null: no limit. */
  spansPerMonth: number | null
  /** How many UTC days of receipt readers see, besides today. */
  retentionDays: number
}>
export type Workspace = Readonly<{
  id: WorkspaceId
  name: string
  plan: WorkspacePlan
  /** Earlier plans, oldest first. What they dropped stays dropped. */
  formerPlans?: readonly PastPlan[]
  createdAt: number
}>

/** A key as it may be shown: only the secret's prefix and last 4 characters. */
export type Key = Readonly<{
  id: string
  workspaceId: WorkspaceId
  kind: KeyKind
  scopes: readonly KeyScope[]
  name: string
  prefix: string
  last4: string
  /** Allowed origins of a publishable key; if empty, any. */
  origins: readonly string[]
  createdAt: number
  revokedAt: number | null
  /** When a replaced key is revoked automatically; null: only when somebody revokes it. */
  worksUntil: number | null
  exposed: boolean
}>

/** `workspaceIds` in the order in which the person joined them. */
export type User = Readonly<{ id: string; email: string; workspaceIds: readonly WorkspaceId[] }>
export type MemberRole = 'owner' | 'member'
export type Member = Readonly<{ userId: string; email: string; role: MemberRole; addedAt: number }>

/** A signed-in person in one workspace. */
export type Session = Readonly<{
  id: string
  userId: string
  email: string
  workspaceId: WorkspaceId
  startedAt: number
}>

/**
 * A session before it has an id. `address`: where the person signs in from, if it is by a password. `passwordPosition`: the position of
 * the password that was checked.
 */
export type SignedIn = Omit<Session, 'id'> & Readonly<{ address?: string; passwordPosition: Position }>

/** How a person has ended a session: by signing out, or by beginning another in its place, as in another workspace. */
export type SessionEnd = 'signedOut' | 'replaced'

/** An in-memory view of the directory stream: workspaces, plans, keys, people and sessions. */
export interface DirectoryView {
  position(): Position
  workspace(id: WorkspaceId): Workspace | undefined
  /** The key of a secret, found by its keyed hash; revoked ones too. A secret with a wrong checksum needs no look-up. */
  findKey(secret: string): Key | undefined
  /** All keys of a workspace, revoked ones too. */
  keys(workspaceId: WorkspaceId): readonly Key[]
  /** Undefined if it was ended, has expired, or never existed. */
  session(id: string): Session | undefined
  isMember(workspaceId: WorkspaceId, userId: string): boolean
  /** The position of the event that set the person's password; 0 if there is no such person. */
  passwordPosition(userId: string): Position
}

/** A view that follows its log. */
export interface FollowedView extends DirectoryView {
  /**
   * True once the view includes everything that was in the log at the time of the call; false if that cannot be determined within a few
   * seconds. Call it before a final refusal. Concurrent calls share one read of the log's head.
   */
  caughtUp(): Promise<boolean>
}
