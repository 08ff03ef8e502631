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
  /** UTC days of receipt that readers see, besides today. */
  retentionDays: number
}>
export type Workspace = Readonly<{
  id: WorkspaceId
  name: string
  plan: WorkspacePlan
  /** Plans that it had before, the oldest first; what they dropped stays dropped. */
  formerPlans?: readonly PastPlan[]
  createdAt: number
}>

/** A key as it may be shown: never the secret, only its prefix and last 4 characters. */
export type Key = Readonly<{
  id: string
  workspaceId: WorkspaceId
  kind: KeyKind
  scopes: readonly KeyScope[]
  name: string
  prefix: string
  last4: string
  /** Allowed origins of a publishable key; empty: any. */
  origins: readonly string[]
  createdAt: number
  revokedAt: number | null
  /** When the key, replaced by another, is revoked automatically; null: not until somebody revokes it. */
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
 * What is known of a session before it has an id. `address`: where the person signs in from. `passwordPosition`: of the password that
 * was checked.
 */
export type SignedIn = Omit<Session, 'id'> & Readonly<{ address?: string; passwordPosition: Position }>

/** What the service knows of workspaces, plans, keys, people and sessions: an in-memory view of the directory stream. */
export interface DirectoryView {
  position(): Position
  workspace(id: WorkspaceId): Workspace | undefined
  /** The key of a secret, revoked ones too; by its keyed hash. No look-up for a secret whose checksum is wrong. */
  findKey(secret: string): Key | undefined
  /** All of a workspace, revoked ones too. */
  keys(workspaceId: WorkspaceId): readonly Key[]
  /** Undefined if it was ended, has expired, or never existed. */
  session(id: string): Session | undefined
  /** The position of the event that set the person's password; 0: there is no such person. */
  passwordPosition(userId: string): Position
}

/** A view that follows its log. */
export interface FollowedView extends DirectoryView {
  /**
   * True as soon as the view includes everything that was in the log at the time of the call; false if that cannot be told, after some
   * seconds at most. To be called before a final refusal. Concurrent calls share one look at the log.
   */
  caughtUp(): Promise<boolean>
}
