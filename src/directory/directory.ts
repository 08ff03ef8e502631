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
  /** Plans that it had before, the oldest first; what they let go stays gone. */
  formerPlans?: readonly PastPlan[]
  createdAt: number
}>

/** A key as everybody may see it: never the secret, only its prefix and last 4. */
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
  /** Another key has taken its place, and it is revoked by itself at this time; null: until somebody revokes it. */
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
  /** Undefined where it has ended, is over, or never was. */
  session(id: string): Session | undefined
  /** Where the person's password was set; 0: there is no such person. */
  passwordPosition(userId: string): Position
}

/** A view that follows its log. */
export interface FollowedView extends DirectoryView {
  /**
   * True as soon as the view shows all that was in the log when it was asked; false when that cannot be told, after some seconds at
   * most. For what would be refused for good otherwise. Those who ask share a look at the log, however many and often.
   */
  caughtUp(): Promise<boolean>
}
